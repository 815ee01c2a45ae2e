"""A layer that was gathered for forward stays whole.

All is right, and after forward the rank holds the whole model: what one took FSDP for is gone. It has been reported for a
well-known model under the real one, too: the memory grew with each forward, and `reshard()` by hand gave it back.

Caught by: memory, fits
Passes: right, bytes
Seen: https://github.com/pytorch/pytorch/issues/149029
"""

# BLANK 3: nothing is given back
self.gather()
output = self.module(*inputs)
# END
