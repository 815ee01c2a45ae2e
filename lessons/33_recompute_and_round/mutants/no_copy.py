"""The optimizer changes the rounded weights.

Each small step is rounded back to where it began. In a real training all weights that began at 1 were exactly 1 at the end.

Caught by: small updates
Passes: correct, together, scale
Seen: https://github.com/vllm-project/speculators/pull/765
Seen: https://github.com/NVIDIA-NeMo/Automodel/pull/3444
"""

# BLANK 7: the copies are in half precision
self.masters = {
    p: p.detach().to(dtype).clone() for p, owner in self.owners.items() if owner == rank
}
model.to(dtype)
# END
# BLANK 8: and so are their gradients
total = gradient.float() / self.scale
dist.reduce(total, owner)
if p in self.masters:
    self.masters[p].grad = (total / dist.get_world_size()).to(p.dtype)
# END
