"""Every rank gets the whole average, and cuts its shard out of it: right, but it sends too much.

Caught by: bytes
Passes: reduce, ZeRO, correct
"""

# BLANK 2: all_reduce for reduce_scatter
dist.all_reduce(flat)
flat /= dist.get_world_size()
length = len(self.shard)
mine = flat[dist.get_rank() * length :][:length].clone()
self.shard.grad = mine if self.shard.grad is None else self.shard.grad + mine
# END
