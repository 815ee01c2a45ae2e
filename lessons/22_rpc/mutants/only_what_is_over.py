"""The callee remembers requests that are over, not those that are running.

A copy that comes while the first one runs finds no entry, and both run.

Caught by: at most once
Passes: correct
Seen: https://github.com/nex-crm/wuphf/issues/823
"""

# BLANK 1: known only when it is over
if number < self.floors[src]:
    return
if (src, number) not in self.known:
    self.known[src, number] = carry_out(func, args, kwargs)
self.post.send(src, (ANSWER, number, self.known[src, number]))
# END
