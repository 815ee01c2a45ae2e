"""The strides that numpy gives to a result: those of its inputs, in order, without gaps.

numpy calls it order "K". A result has its axes in memory in the order of the inputs' axes, so that a transposed
array plus one is transposed, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from minitorch_dist.tensors.shape_arrays.array import ShapeArray

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]


def packed(shape: Shape, dtype: np.dtype[Any], order: Iterable[int]) -> ShapeArray:
    """A new array whose axes lie in memory in `order`, the widest step first."""
    strides, step = [0] * len(shape), dtype.itemsize
    for axis in reversed(list(order)):
        strides[axis] = step
        step *= max(1, shape[axis])
    return ShapeArray(shape, dtype, tuple(strides))


def result(shape: Shape, dtype: Any, inputs: Sequence[Any]) -> ShapeArray:
    """A new array, in the order in memory that numpy's loops choose for these inputs."""
    dtype = np.dtype(dtype)
    arrays = [x for x in inputs if isinstance(x, np.ndarray) and x.ndim]
    if len(shape) < 2 or all(np.ndarray.flags.__get__(x).c_contiguous for x in arrays):
        return ShapeArray(shape, dtype)
    steps = [
        (0,) * (len(shape) - x.ndim)
        + tuple(0 if n == 1 else abs(s) for n, s in zip(x.shape, x.strides, strict=True))
        for x in arrays
    ]
    return packed(shape, dtype, axis_order(len(shape), steps))


def axis_order(ndim: int, steps: Sequence[Shape]) -> list[int]:
    """The axes, the widest step first, sorted as numpy's iterator sorts them.

    Two axes change places if the inputs' strides say so and no input contradicts. Where an input has a step of zero
    it has no opinion.
    """
    order = list(range(ndim))[::-1]  # the narrowest step first
    for place in range(1, ndim):
        axis, to = order[place], place
        for before in range(place - 1, -1, -1):
            undecided, swaps = True, False
            for step in steps:
                mine, other = step[axis], step[order[before]]
                if mine and other:
                    if other <= mine:
                        swaps = False
                    elif undecided:
                        swaps = True
                    undecided = False
            if not undecided:
                if not swaps:
                    break
                to = before
        order.insert(to, order.pop(place))
    return order[::-1]


def joined(shape: Shape, dtype: Any, arrays: Sequence[Array]) -> ShapeArray:
    """A new array of several, one after another. numpy sorts its axes as above, but for one rule.

    An axis of one element has no opinion here, and a step of zero has.
    """
    order = list(range(len(shape)))
    for place in range(1, len(shape)):
        axis, to = order[place], place
        for before in range(place - 1, -1, -1):
            other = order[before]
            said = [
                abs(x.strides[axis]) > abs(x.strides[other])
                for x in arrays
                if x.shape[axis] != 1 and x.shape[other] != 1
            ]
            if said and not all(said):
                break
            if said:
                to = before
        order.insert(to, order.pop(place))
    return packed(shape, np.dtype(dtype), order)


def like(x: Array, shape: Shape | None = None, dtype: Any = None, order: str = "K") -> ShapeArray:
    """The array that `np.empty_like` makes."""
    kind = x.dtype if dtype is None else np.dtype(dtype)
    if shape is not None and len(shape) != x.ndim:
        return ShapeArray(shape, kind)
    shape = x.shape if shape is None else shape
    flags = np.ndarray.flags.__get__(x)
    if order == "F" or (order in "KA" and flags.f_contiguous and not flags.c_contiguous):
        return packed(shape, kind, range(x.ndim)[::-1])
    if order in "CA" or flags.c_contiguous:
        return ShapeArray(shape, kind)
    return packed(shape, kind, sorted(range(x.ndim), key=lambda axis: -abs(x.strides[axis])))
