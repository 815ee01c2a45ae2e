"""The shard has its part of the average, and the whole gradient stays as well.

The whole gradients of all layers stay in memory, and the next backward adds to the old ones.

Caught by: correct, memory
Passes: bytes
Seen: https://github.com/pytorch/pytorch/issues/160320
"""

# BLANK 5: the windows keep their gradients
mine = torch.empty_like(self.shard)
dist.reduce_scatter_tensor(mine, flat)
mine /= dist.get_world_size()
self.shard.grad = mine if self.shard.grad is None else self.shard.grad + mine
self.free()
# END
