"""The shard has its part of the average, and the whole gradient stays as well.

The whole gradients of all layers stay in memory, and the next backward adds to the old ones.

Caught by: right, memory
Passes: bytes
Seen: https://github.com/pytorch/pytorch/issues/160320
"""

# BLANK 5: the windows keep their gradients
self.shard.grad = torch.empty_like(self.shard)
dist.reduce_scatter_tensor(self.shard.grad, flat)
self.shard.grad /= dist.get_world_size()
self.free()
# END
