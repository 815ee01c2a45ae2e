"""Running totals along an axis: each result depends on the elements up to its own place.

Their gradients run the other way: `backwards(sum)` of x is the sum from each place to the end.
"""

from __future__ import annotations

import numpy as np

from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.core.base import Array, T
from minitorch_dist.tensors.core.graph import record
from minitorch_dist.tensors.core.operations import axis
from minitorch_dist.tensors.masks import only
from minitorch_dist.tensors.ops.elementwise.copying import row_major
from minitorch_dist.tensors.promotion import cast


def _accumulate(ufunc: np.ufunc, x: Array, along: int) -> Array:
    """A running total; half precision is added up in float32 and rounded at every place."""
    if not x.ndim:
        return x.copy()
    if x.dtype in dtypes.HALVES:
        return np.asanyarray(ufunc.accumulate(x.astype(np.float32), along).astype(x.dtype))
    return np.asanyarray(ufunc.accumulate(x, along, dtype=x.dtype))


def _from_the_end(ufunc: np.ufunc, x: Array, along: int) -> Array:
    if not x.ndim:
        return x.copy()
    return row_major(np.flip(_accumulate(ufunc, np.flip(x, along), along), along))


def _typed(input: T, dtype: dtypes.dtype | None) -> T:
    """Whole numbers are added up in int64."""
    kind = dtype or (input.dtype if input.dtype.category >= dtypes.FLOATING else dtypes.int64)
    return cast(input, kind)


def cumsum(input: T, dim: int, *, dtype: dtypes.dtype | None = None) -> T:
    """Running sums."""
    along = axis(dim, input.array.ndim)
    input = _typed(input, dtype)
    return record(
        _accumulate(np.add, input.array, along),
        "CumsumBackward0",
        (input, lambda g: _from_the_end(np.add, g, along)),
    )


def cumprod(input: T, dim: int, *, dtype: dtypes.dtype | None = None) -> T:
    """Running products."""
    along = axis(dim, input.array.ndim)
    input = _typed(input, dtype)
    x = input.array
    out = _accumulate(np.multiply, x, along)

    def gradient(g: Array) -> Array:
        """Before the first zero: the products divided by x. At it: as if it were 1. After it: 0."""
        if not x.ndim:
            return g
        zero = x == 0
        zeros = np.cumsum(zero, along)
        first = zero & (zeros == 1)
        rest = np.where(first, 1, x).astype(x.dtype)
        product = only(g * _accumulate(np.multiply, rest, along), zeros == 1)
        at_first = _from_the_end(np.add, product, along)
        before = _from_the_end(np.add, only(g * out, zeros == 0), along) / np.where(zero, 1, x)
        return np.where(zeros == 0, before, np.where(first, at_first, 0)).astype(g.dtype)

    return record(out, "CumprodBackward0", (input, gradient, input), reads_result=True)
