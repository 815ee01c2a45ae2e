"""The gradients are added in the precision in which they were computed.

Half the bytes are sent. But each sum of a ring is rounded on each rank, so small numbers vanish beside large ones. In float16 a sum
may be inf although no part of it is.

Caught by: sums
Passes: correct, small updates, scale
Seen: https://github.com/NVIDIA/TransformerEngine/pull/3555
Seen: https://github.com/jax-ml/jax/issues/27496
"""

# BLANK 8: float32 only afterwards
total = gradient.clone()
dist.reduce(total, owner)
if p in self.masters:
    self.masters[p].grad = total.float() / self.scale / dist.get_world_size()
# END
