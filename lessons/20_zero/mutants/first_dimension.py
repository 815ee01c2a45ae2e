"""The parameters are sorted by the length of the first dimension.

A matrix of one row then counts as small and comes last, and some rank has far more than its share. The author meant the number of
elements. But with `size(0)` for `numel()` training is just as right: only a measurement of the memory shows it.

Caught by: memory
Passes: correct, bytes
Seen: https://github.com/pytorch/pytorch/pull/60556
"""

# BLANK 1: len(p) is the first dimension
for p in sorted(parameters, key=len, reverse=True):
    least = min(parts, key=lambda part: sum(q.numel() for q in part))
    least.append(p)
# END
