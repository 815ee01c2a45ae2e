"""The shards get the sums of the gradients.

If all ranks have the same wrong factor, nothing fails. In torch a special case once left the division out: gradients were too
large by the number of ranks.

Caught by: right
Passes: memory, bytes, fits
Seen: https://github.com/pytorch/pytorch/pull/167178
"""

# BLANK 5: not divided
self.shard.grad = torch.empty_like(self.shard)
dist.reduce_scatter_tensor(self.shard.grad, flat)
for w in self.windows:
    w.grad = None
self.free()
# END
