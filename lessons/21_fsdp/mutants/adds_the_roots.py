"""The norms of all ranks' shards are added up.

The root of a sum is less than the sum of the roots, up to √P times. So the norm is too large, and every step is clipped too much.

Caught by: norm
Passes: correct, memory, bytes
"""

# BLANK 9: the root first, and then the sum
total = torch.tensor([squares**0.5], dtype=torch.float64)
dist.all_reduce(total)
norm = total.item()
# END
