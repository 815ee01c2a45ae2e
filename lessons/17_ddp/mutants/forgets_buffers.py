"""Gradients are averaged, buffers are forgotten.

The weights stay equal, so nobody looks. But each rank's BatchNorm uses its own running mean, and the checkpoint has rank 0's. A
sharded data parallel wrapper left out this broadcast for speed, and had to put it back.

Caught by: buffers
Passes: start, average, loss, correct, replicas, bytes
Seen: https://github.com/facebookresearch/fairscale/issues/68
"""

# BLANK 3: nothing
# END
