"""The shards get the sums of the gradients.

If all ranks have the same wrong factor, nothing fails. In torch a special case once left the division out: gradients were too
large by the number of ranks.

Caught by: reduce, ZeRO, correct
Passes: memory, bytes, fits
Seen: https://github.com/pytorch/pytorch/pull/167178
"""

# BLANK 2: not divided
mine = torch.empty_like(self.shard)
dist.reduce_scatter_tensor(mine, flat)
self.shard.grad = mine if self.shard.grad is None else self.shard.grad + mine
# END
