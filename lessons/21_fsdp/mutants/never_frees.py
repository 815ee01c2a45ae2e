"""A layer that was gathered for forward stays whole.

All is right, but after forward the rank holds the whole model: FSDP saves nothing any more. This was reported for a well-known
model under torch's FSDP, too: the memory grew with each forward, and calling `reshard()` by hand gave it back.

Caught by: forward, memory, fits
Passes: correct, bytes
Seen: https://github.com/pytorch/pytorch/issues/149029
"""

# BLANK 5: nothing is given back
self.gather()
output = self.module(*inputs)
# END
