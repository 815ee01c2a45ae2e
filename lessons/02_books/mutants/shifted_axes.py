"""Axes of size 1 are looked up in the gradient before the extra ones in front are gone, so each is off by their number.

Where nothing is put in front it is right.

Caught by: sum_to
Passes: plugged in
Seen: https://github.com/Theano/Theano/pull/2844
"""

# BLANK 6: stretched axes counted in the small shape, summed in the large one
extra = grad.ndim - len(shape)
stretched = tuple(axis for axis, n in enumerate(shape) if n == 1)
grad = grad.sum(stretched, keepdims=True)
return grad.sum(tuple(range(extra)))
# END
