"""Gradients are averaged, buffers are forgotten.

Weights stay equal, so nobody looks; each rank's BatchNorm measures with its own running mean, and the checkpoint has rank 0's.
A sharded data parallel wrapper left their broadcast out for speed, and had to take it back.

Caught by: buffers
Passes: right, replicas, bytes
Seen: https://github.com/facebookresearch/fairscale/issues/68
"""

# BLANK 3: nothing
# END
