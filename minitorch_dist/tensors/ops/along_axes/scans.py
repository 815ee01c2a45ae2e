"""Running totals along an axis: each result depends on the elements up to its own place.

Their gradients run the other way: `backwards(sum)` of x is the sum from each place to the end.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch_dist.tensors import return_types
from minitorch_dist.tensors.core import dtypes
from minitorch_dist.tensors.core.base import Array, T
from minitorch_dist.tensors.core.dtypes import type_name
from minitorch_dist.tensors.core.graph import record, result
from minitorch_dist.tensors.core.operations import axis
from minitorch_dist.tensors.core.promotion import cast, not_implemented
from minitorch_dist.tensors.core.views import check_writable, inplace, write
from minitorch_dist.tensors.distributions import DIGITS
from minitorch_dist.tensors.masks import only
from minitorch_dist.tensors.ops.elementwise.copying import clone, row_major


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


def logcumsumexp(input: T, dim: int) -> T:
    """Logarithms of running sums of exponentials, without overflow."""
    x = input.array
    along = axis(dim, x.ndim)
    if x.dtype not in DIGITS:
        raise NotImplementedError(
            f"\"logcumsumexp_out_cpu\" not implemented for '{type_name(x)[6:-6]}'"
        )
    with np.errstate(invalid="ignore"):
        out = _accumulate(np.logaddexp, x, along)

    def gradient(g: Array) -> Array:
        """Σ g e^(x - out) over what comes after, in logarithms, positive and negative apart."""
        with np.errstate(divide="ignore", invalid="ignore"):
            up, down = (
                np.exp(_from_the_end(np.logaddexp, np.log(np.maximum(part, 0)) - out, along) + x)
                for part in (g, -g)
            )
        return np.asanyarray(up - down).astype(g.dtype)  # type: ignore[no-any-return]

    return record(out, "LogcumsumexpBackward0", (input, gradient, input), reads_result=True)


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
