"""The vector is averaged, and nobody unpacks it.

`torch.cat` copies. So the average lies in a vector that is thrown away, and each rank steps with its own gradients.

Caught by: average, pieces, correct
Passes: assign, pack, bytes, rounds
"""

# BLANK 3: without the way back
flat = pack(bucket)
all_reduce(flat)
flat /= dist.get_world_size()
# END
