"""A parameter is divided by the length of its first dimension, and not by its number of elements.

A matrix of one row then has one part, and each rank keeps all of it. Training is just as right: only the length of the shards
shows it. The first ZeRO in torch gave each parameter to one rank, and sorted them by `size(0)`. So some rank had far more
than its share, although the author meant the number of elements.

Caught by: shards
Passes: reduce, ZeRO, correct, memory, bytes
Seen: https://github.com/pytorch/pytorch/pull/60556
"""

# BLANK 1: rows, rounded up
rows = shape[0] if shape else 1
return -(-rows // size) * (shape.numel() // rows)
# END
