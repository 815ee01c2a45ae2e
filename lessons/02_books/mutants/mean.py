"""The mean of what comes back, where the sum is asked for.

All shapes are right, but a number that was used n times learns n times too slowly.

Caught by: sum_to, plugged in
Seen: https://github.com/kvfrans/notes/issues/5
"""

# BLANK 6: averaged
extra = grad.ndim - len(shape)
grad = grad.mean(tuple(range(extra)))
stretched = tuple(axis for axis, n in enumerate(shape) if n == 1)
return grad.mean(stretched, keepdims=True)
# END
