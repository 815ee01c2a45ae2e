"""A copy is not carried out again, and not answered either.

So the work was done once. But if the first answer was lost, the caller never gets it.

Caught by: answered
Passes: correct, at most once
Seen: https://github.com/nebulastream/nebulastream/issues/1817
"""

# BLANK 1: a copy is nothing new
if number < self.floors[src] or (src, number) in self.known:
    return
self.known[src, number] = RUNNING
self.known[src, number] = carry_out(func, args, kwargs)
self.post.send(src, (ANSWER, number, self.known[src, number]))
# END
