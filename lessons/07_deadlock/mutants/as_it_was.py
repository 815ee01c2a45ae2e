"""Everybody sends first.

Right wherever sends return at once: for small messages, on most systems, on every laptop.

Caught by: never stuck
Passes: correct, circle
Seen: https://github.com/NVIDIA/nccl/issues/479
Seen: https://github.com/open-mpi/ompi/issues/1669
"""

# BLANK 1: as the lesson gave it
dist.send(tensor, right)
dist.recv(received, left)
# END
