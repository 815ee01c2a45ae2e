"""The scale is divided out before the gradient is in float32.

So the small gradients, for which the loss was scaled, are 0 again.

Caught by: sums
Passes: correct, small updates, together, scale
"""

# BLANK 8: divided in half precision
total = (gradient / self.scale).float()
dist.reduce(total, owner)
if p in self.masters:
    self.masters[p].grad = total / dist.get_world_size()
# END
