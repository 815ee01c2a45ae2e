"""The owner sends its reference and enters nothing: it waits until the receiver reports its fork.

Between the two messages the owner's list is empty.

Caught by: never too early
Seen: https://github.com/ray-project/ray-legacy/pull/48
"""

# BLANK 2: it will be asked for
owner = self.rank
# END

# BLANK 4: everybody asks
self.post.send(owner, (FORK, id, number))
# END
