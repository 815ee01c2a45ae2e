"""Lazy: rank 0 receives first, which opens the circle. The others go one after another.

Caught by: rounds
Passes: correct, never stuck
"""

# BLANK 1: P rounds
if rank == 0:
    dist.recv(received, left)
dist.send(tensor, right)
if rank != 0:
    dist.recv(received, left)
# END
