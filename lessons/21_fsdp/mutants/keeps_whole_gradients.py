"""The shard has its part of the average, and the whole gradient stays as well.

The whole gradients of all layers stay in memory, and the next backward adds to the old ones.

Caught by: average, backward, correct, memory
Passes: bytes
Seen: https://github.com/pytorch/pytorch/issues/160320
"""

# BLANK 6: the windows keep their gradients
for part in self.parts:
    if part.shard.requires_grad:
        part.reduce(part.window.grad)
self.free()
# END
