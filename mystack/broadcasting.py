"""Broadcasting: arrays of different shapes in one operation, without a copy, and the way back.

x           (4, 2, 3)     aligned at the right; an axis that is missing has size 1
bias           (2, 1)
x + bias    (4, 2, 3)     axes of size 1 are stretched: each number of bias is used 12 times

forward     expand        a view with the stride 0 along the axes that are stretched
backward    sum_to        what comes back from the 12 uses of a number is added up
"""

import numpy as np


def aligned(numbers, axes, missing):
    """As many numbers as there are axes: `missing` in front, for axes that are not there."""
    return (missing,) * (axes - len(numbers)) + tuple(numbers)


def broadcast_shapes(a, b):
    """The shape in which arrays of the shapes `a` and `b` meet.

    ValueError if they do not fit together.
    """
    axes = max(len(a), len(b))
    sizes = []
    for n, m in zip(aligned(a, axes, 1), aligned(b, axes, 1), strict=True):
        if n != m and 1 not in (n, m):
            raise ValueError(
                f"{a} and {b} do not fit together: {n} and {m} differ, and neither is 1"
            )
        sizes.append(m if n == 1 else n)
    return tuple(sizes)


def expanded_strides(shape, strides, larger):
    """The strides with which numbers of this shape
    and these strides are seen in the shape `larger`.

    A stride says how far it is to the next number along an axis.
    """
    sizes = aligned(shape, len(larger), 1)
    steps = aligned(strides, len(larger), 0)
    return tuple(step if n == m else 0 for n, step, m in zip(sizes, steps, larger, strict=True))


def expand(tensor, *shape):
    """A view of the tensor in this larger shape.

    No number is copied, so nobody may write into it.
    """
    array = tensor.array
    if broadcast_shapes(array.shape, shape) != shape:
        raise ValueError(f"{array.shape} cannot be expanded to {shape}: it would have to shrink")
    strides = expanded_strides(array.shape, array.strides, shape)
    # as_strided believes what it is told: wrong strides would lead to memory that is not ours.
    return tensor.window(np.lib.stride_tricks.as_strided(array, shape, strides, writeable=False))


def sum_to(grad, shape):
    """Undo broadcasting: the gradient of an array of this shape, which was broadcast to grad.shape.

    A number that was used several times gets the sum of what comes back from all its uses.
    """
    if grad.shape == shape:
        return grad
    extra = grad.ndim - len(shape)
    grad = grad.sum(tuple(range(extra)))
    stretched = tuple(axis for axis, n in enumerate(shape) if n == 1)
    return grad.sum(stretched, keepdims=True)
