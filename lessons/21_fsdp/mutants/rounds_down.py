"""The shards together are shorter than the parameters.

`count // size` is right if the number of ranks divides the number of elements, as it does in most examples.

Caught by: shards, correct
Passes: memory, bytes, fits
Seen: https://github.com/deepspeedai/DeepSpeed/pull/202
"""

# BLANK 1: rounded down
return shape.numel() // size
# END
