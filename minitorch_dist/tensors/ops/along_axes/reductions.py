"""From many elements to fewer: sums, means, products, counts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.core.base import Array, T
from minitorch_dist.tensors.core.graph import record, result
from minitorch_dist.tensors.core.operations import Dims, add_up, axes, is_empty, numpy_names, spread
from minitorch_dist.tensors.core.without_warnings import without_warnings
from minitorch_dist.tensors.ops import autocasting
from minitorch_dist.tensors.promotion import cast


@numpy_names
def mean(input: T, dim: Dims = None, keepdim: bool = False, *, dtype: dtypes.dtype | None = None) -> T:
    """The mean over `dim`; that of nothing is nan."""
    if dtype is not None:
        input = cast(input, dtype)
    x = input.array
    if x.dtype.kind in "iub":
        raise RuntimeError(f"mean() is of floating or complex numbers, not of {input.dtype}: try input.float().mean()")
    over = axes(dim, x.ndim)
    shape = x.shape
    count = math.prod([shape[i] for i in over])

    def averaged(x: Array) -> Any:
        if x.dtype in dtypes.HALVES:
            return (add_up(x, over, np.float32, keepdims=keepdim) / count).astype(x.dtype)
        return add_up(x, over, keepdims=keepdim) / count

    return record(
        without_warnings(averaged, x),
        "MeanBackward0" if dim is None else "MeanBackward1",
        (input, lambda g: spread(g / count, shape, over, keepdim)),
    )


@autocasting.full
@numpy_names
def prod(input: T, dim: int | None = None, keepdim: bool = False, *, dtype: dtypes.dtype | None = None) -> T:
    """The product over `dim`; integers multiply in int64."""
    if isinstance(dim, (tuple, list)):
        raise TypeError(f"prod(): argument 'dim' must be int, not {type(dim).__name__}")
    x = input.array
    over = axes(dim, x.ndim)
    if dtype is not None or x.dtype.kind in "iub":
        input = cast(input, dtype or dtypes.int64)
        x = input.array
    wide = x.astype(np.float32) if x.dtype in dtypes.HALVES else x
    multiply_up: Any = np.multiply.reduce
    out = without_warnings(multiply_up, wide, over, None, None, keepdim).astype(x.dtype)

    def backward(g: Array) -> Any:
        return spread(g, x.shape, over, keepdim) * _others(x, over)

    return record(out, "ProdBackward0" if dim is None else "ProdBackward1", (input, backward, input))


def _others(x: Array, over: tuple[int, ...]) -> Array:
    """For each element, the product of all others: of those before it and those after it.

    Dividing the product by the element would do as well, were no element 0.
    """
    ends = range(-len(over), 0)
    moved = np.moveaxis(x, over, ends)
    line = moved.reshape(*moved.shape[: x.ndim - len(over)], math.prod(moved.shape[x.ndim - len(over) :]))
    before, after = np.ones_like(line), np.ones_like(line)
    np.multiply.accumulate(line[..., :-1], -1, out=before[..., 1:])
    np.multiply.accumulate(line[..., :0:-1], -1, out=after[..., -2::-1])
    return np.moveaxis((before * after).reshape(moved.shape), ends, over)


# ------------------------------------------------------------------------------------------ truth


@numpy_names
def all(input: T, dim: Dims = None, keepdim: bool = False) -> T:
    """Whether every element is not 0; of no elements, yes."""
    return _truth(np.logical_and, input, dim, keepdim)


@numpy_names
def any(input: T, dim: Dims = None, keepdim: bool = False) -> T:
    """Whether some element is not 0; of no elements, none is."""
    return _truth(np.logical_or, input, dim, keepdim)


def _truth(ufunc: np.ufunc, input: T, dim: Dims, keepdim: bool) -> T:
    x = input.array
    over = () if is_empty(dim) else axes(dim, x.ndim)  # here, unlike in sums, () names none of them
    out = np.asanyarray(ufunc.reduce(x.astype(bool, copy=False), over, keepdims=keepdim))
    return result(input, out.astype(x.dtype) if x.dtype == np.uint8 else out)


@numpy_names
def count_nonzero(input: T, dim: Dims = None, *more: int) -> T:
    """How many elements are not 0"""
    if more:
        dim = (dim, *more)  # type: ignore[arg-type]
    x = input.array
    return result(input, np.asanyarray(np.count_nonzero(x, axes(dim, x.ndim)), np.int64))
