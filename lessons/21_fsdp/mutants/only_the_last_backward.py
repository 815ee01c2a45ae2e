"""Each backward writes its gradient over that of the one before.

With one backward in each step nobody notices. If a batch comes in three pieces, only the last one counts: with gradients of 1,
10 and 100 the shard has 100. A learning rate that is three times too small looks the same.

Caught by: reduce, backward
Passes: ZeRO, correct, memory, bytes, fits
Seen: https://github.com/NVIDIA/Megatron-LM/pull/7186
"""

# BLANK 2: a new gradient, whatever was there
self.shard.grad = torch.empty_like(self.shard)
dist.reduce_scatter_tensor(self.shard.grad, flat)
self.shard.grad /= dist.get_world_size()
# END
