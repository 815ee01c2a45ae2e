"""Sorted by the length of the first dimension.

A matrix of one row then counts as small, comes last, and some rank has far more than its share. It was meant to be the
number of elements, and `size(0)` for `numel()` trains exactly as well: only somebody who measures the memory sees it.

Caught by: memory
Passes: right, bytes
Seen: https://github.com/pytorch/pytorch/pull/60556
"""

# BLANK 1: len(p) is the first dimension
for p in sorted(parameters, key=len, reverse=True):
    least = min(parts, key=lambda part: sum(q.numel() for q in part))
    least.append(p)
# END
