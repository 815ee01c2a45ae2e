"""Distinct values, how often they occur, and into which bucket a value falls."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.core.base import Array, T, TensorBase
from minitorch_dist.tensors.core.graph import record, result
from minitorch_dist.tensors.core.operations import axis
from minitorch_dist.tensors.ops.statistics.counting import searchsorted
from minitorch_dist.tensors.promotion import demand_order, not_implemented
from minitorch_dist.tensors.shape_arrays.array import NumbersNeeded, has_numbers


def _no_gradient(g: Array) -> Array:
    raise RuntimeError("the derivative for 'unique' is not implemented.")


def unique(
    input: T,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The distinct elements (with `dim`: slices) in order. Every NaN is distinct."""
    x = input.array
    demand_order("unique", x)
    along = None if dim is None else axis(dim, x.ndim)
    wide = x.astype(np.float32) if x.dtype in dtypes.HALVES else x
    values, inverse, counts = np.unique(
        wide, return_inverse=True, return_counts=True, axis=along, equal_nan=False
    )
    found: list[T] = [
        record(values.astype(x.dtype, copy=False), "Unique2Backward0", (input, _no_gradient))
    ]
    if return_inverse:
        shape = x.shape if along is None else (x.shape[along],)
        found.append(result(input, inverse.reshape(shape)))
    if return_counts:
        found.append(result(input, counts))
    return tuple(found) if len(found) > 1 else found[0]


def bincount(input: TensorBase, weights: TensorBase | None = None, minlength: int = 0) -> Any:
    """How often each of 0, 1, 2 … occurs, or the sum of the weights of its occurrences."""
    x = input.array
    if x.dtype.kind not in "iu":
        raise not_implemented("bincount_cpu", x)
    if not has_numbers(x):
        raise NumbersNeeded("bincount()")
    if x.ndim != 1 or (x.size and x.min() < 0):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if weights is None:
        return result(input, np.bincount(x.astype(np.int64), minlength=minlength))
    w = weights.array
    if w.shape != x.shape:
        raise RuntimeError(
            f"input and weights should have the same length: {x.shape} and {w.shape}"
        )
    sums = np.bincount(x.astype(np.int64), w.astype(np.float64), minlength)
    return result(input, sums.astype(np.float32 if w.dtype == np.float32 else np.float64))


def bucketize(
    input: Any, boundaries: TensorBase, *, out_int32: bool = False, right: bool = False
) -> Any:
    """The number of the bucket each value falls into, between sorted boundaries."""
    if boundaries.array.ndim != 1:
        raise RuntimeError(
            f"boundaries tensor must be 1 dimension, but got dim({boundaries.array.ndim})"
        )
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)
