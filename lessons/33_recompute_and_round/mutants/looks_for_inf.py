"""It looks for inf, and nan is no inf.

inf on one rank and -inf on another make nan. One such step makes all weights nan, for ever.

Caught by: together
Passes: correct, small updates, sums, scale
"""

# BLANK 9: nan is equal to nothing
mine = not any((master.grad.abs() == math.inf).any().item() for master in self.masters.values())
bad = torch.tensor([0.0 if mine else 1.0])
dist.all_reduce(bad, dist.ReduceOp.MAX)
return bad.item() == 0
# END
