"""All ranks' squares are added up, although several ranks may have the same one.

In stage 2 each gradient has one owner, and the norm is right. In stage 1 every rank has all of them, so each square counts P times. The norm
is √P times too large, and every step is clipped too much.

Caught by: norm
Passes: correct, memory, bytes
"""

# BLANK 4: as if each gradient lay on one rank only
squares = torch.tensor([sum(powers)], dtype=torch.float64)
dist.all_reduce(squares)
norm = squares.item() ** (1 / norm_type)
# END
