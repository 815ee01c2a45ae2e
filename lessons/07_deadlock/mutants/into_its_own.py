"""The tensor that is on its way is also the one that is received into.

Caught by: correct, never stuck
"""

# BLANK 1: one tensor for both
work = dist.isend(tensor, right)
dist.recv(tensor, left)
work.wait()
received.copy_(tensor)
# END
