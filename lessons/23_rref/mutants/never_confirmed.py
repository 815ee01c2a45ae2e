"""A fork that came from the owner itself is never confirmed.

So it is never given back. Nothing fails, but the owner keeps the memory. (PyTorch forgot to list such forks among those that it
deletes at shutdown.)

Caught by: correct, always freed
Passes: never too early
Seen: https://github.com/pytorch/pytorch/pull/34988
"""

# BLANK 4: ask, unless it came from the owner
if src != owner:
    self.post.send(owner, (FORK, id, number))
# END
