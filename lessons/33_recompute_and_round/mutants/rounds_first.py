"""The model is rounded first, and then copied.

The copies have 32 bits, of which the last 16 are lost before training begins.

Caught by: small updates
Passes: correct, sums, together, scale
"""

# BLANK 7: the wrong way round
model.to(dtype)
self.masters = {p: p.detach().float().clone() for p, owner in self.owners.items() if owner == rank}
# END
