"""Every rank has all copies, and all of the optimizer's state.

The steps are right. But P ranks hold each copy P times, and that is what lesson 21 has divided.

Caught by: small updates
Passes: correct, together, scale, trains
"""

# BLANK 7: of all parameters
self.masters = {p: p.detach().float().clone() for p in self.owners}
model.to(dtype)
# END
# BLANK 8: the average for everybody
total = gradient.float() / self.scale
dist.all_reduce(total)
self.masters[p].grad = total / dist.get_world_size()
# END
