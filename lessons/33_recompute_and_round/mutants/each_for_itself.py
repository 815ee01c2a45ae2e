"""Each rank looks at its own gradients only.

The rank with the inf leaves the step out and halves its scale, and the others go on. In the real cases the next collective hung, or the
weights of the ranks drifted apart.

Caught by: together, scale
Passes: correct, small updates, sums
Seen: https://github.com/facebookresearch/fairscale/pull/179
Seen: https://github.com/pytorch/pytorch/pull/115710
Seen: https://github.com/pytorch/pytorch/issues/136009
"""

# BLANK 9: nobody is asked
return all(master.grad.isfinite().all().item() for master in self.masters.values())
# END
