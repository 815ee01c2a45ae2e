"""The owner sends its reference and enters nothing: the receiver will say so when it has it.

Between the two letters the count is zero.

Caught by: never too early
Seen: https://github.com/ray-project/ray-legacy/pull/48
"""

# BLANK 2: it will be asked for
owner = self.rank
# END

# BLANK 4: everybody asks
self.post.send(owner, (FORK, id, number))
# END
