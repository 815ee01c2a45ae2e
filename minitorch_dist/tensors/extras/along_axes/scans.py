"""Running totals along an axis: each result depends on the elements up to its own place: those that are rarely used."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch_dist.tensors import dtypes, return_types
from minitorch_dist.tensors.core.base import Array, T
from minitorch_dist.tensors.core.graph import record, result
from minitorch_dist.tensors.core.operations import axis
from minitorch_dist.tensors.core.views import check_writable, inplace, write
from minitorch_dist.tensors.ops.along_axes.scans import cumprod, cumsum
from minitorch_dist.tensors.ops.elementwise.copying import clone
from minitorch_dist.tensors.promotion import not_implemented
from minitorch_dist.tensors.shape_arrays.array import has_numbers


def cummax(input: T, dim: int) -> Any:
    """The largest element so far, and where it stands (the last of equals)."""
    return return_types.cummax(*_extreme(np.maximum, input, dim, "CummaxBackward0"))


def cummin(input: T, dim: int) -> Any:
    """The smallest element so far, and where it stands (the last of equals)."""
    return return_types.cummin(*_extreme(np.minimum, input, dim, "CumminBackward0"))


def _extreme(ufunc: np.ufunc, input: T, dim: int, name: str) -> tuple[T, T]:
    x = input.array
    along = axis(dim, x.ndim)
    if x.dtype.kind == "c":
        raise not_implemented(f"{name[:6].lower()}_cpu", x)
    if not x.ndim:
        indices = result(input, np.zeros((), np.int64, like=input.array))
        return record(x.copy(), name, (input, lambda g: g, indices)), indices
    values = ufunc.accumulate(x, along)
    place = np.arange(x.shape[along]).reshape([-1 if i == along else 1 for i in range(x.ndim)])
    reached = (x == values) | (x != x)
    index = np.maximum.accumulate(np.where(reached, place, 0), along).astype(np.int64)
    n = x.shape[along]

    def gradient(g: Array) -> Array:
        """Each place sends its gradient to the element that was the extreme there."""
        if not has_numbers(g):
            return np.empty_like(g)
        grads, places = np.moveaxis(g, along, -1), np.moveaxis(index, along, -1)
        row = np.arange(g.size).reshape(grads.shape) // max(n, 1) * n
        sums = np.bincount((row + places).reshape(-1), grads.reshape(-1).astype(np.float64), g.size)
        return np.moveaxis(sums.astype(g.dtype).reshape(grads.shape), -1, along)

    indices = result(input, index)
    return record(values, name, (input, gradient, indices)), indices


cumsum_ = inplace(cumsum)


def cumprod_(self: T, dim: int, *, dtype: dtypes.dtype | None = None) -> T:
    """In-place version of :func:`cumprod`. Its gradient reads the elements as they were: a copy."""
    check_writable(self)
    return write(self, cumprod(clone(self), dim, dtype=dtype))
