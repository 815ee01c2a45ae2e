"""Distinct values, how often they occur, into which bin a value falls, and what is not zero: those that are rarely used."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch_dist.tensors import dtypes, return_types
from minitorch_dist.tensors.core.base import Array, T, TensorBase
from minitorch_dist.tensors.core.graph import record, result
from minitorch_dist.tensors.core.operations import axis
from minitorch_dist.tensors.distributions import DIGITS
from minitorch_dist.tensors.dtypes import type_name
from minitorch_dist.tensors.ops.statistics.counting import searchsorted
from minitorch_dist.tensors.shape_arrays.array import NumbersNeeded, has_numbers


def _no_gradient(g: Array) -> Array:
    raise RuntimeError("the derivative for 'unique' is not implemented.")


def _parts(*tensors: Any) -> Any:
    found = tuple(t for t in tensors if t is not None)
    return found[0] if len(found) == 1 else found


def unique(
    input: T,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The distinct elements (with `dim`: slices) in order. Every NaN is distinct."""
    x = input.array
    along = None if dim is None else axis(dim, x.ndim)
    wide = x.astype(np.float32) if x.dtype in dtypes.HALVES else x
    values, inverse, counts = np.unique(
        wide, return_inverse=True, return_counts=True, axis=along, equal_nan=False
    )
    shape = x.shape if along is None else (x.shape[along],)
    return _parts(
        record(values.astype(x.dtype, copy=False), "Unique2Backward0", (input, _no_gradient)),
        result(input, inverse.reshape(shape)) if return_inverse else None,
        result(input, counts) if return_counts else None,
    )


def unique_consecutive(
    input: T, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """As `unique`, where only neighbours count as repetitions; nothing is sorted."""
    x = input.array
    along = None if dim is None else axis(dim, x.ndim)
    rows = x.reshape(-1) if along is None else np.moveaxis(x, along, 0)
    flat = rows.reshape(len(rows), -1) if rows.size else rows.reshape(len(rows), 0)
    first = np.ones(len(flat), bool, like=flat)
    if flat.shape[1]:
        first[1:] = (flat[1:] != flat[:-1]).any(1)
    starts = np.flatnonzero(first)
    values = rows[starts] if along is None else np.moveaxis(rows[starts], 0, along)
    inverse = np.cumsum(first) - 1
    counts = np.diff(np.append(starts, len(flat)))
    return _parts(
        record(values, "UniqueConsecutiveBackward0", (input, _no_gradient)),
        result(input, inverse.reshape(x.shape if along is None else -1))
        if return_inverse
        else None,
        result(input, counts) if return_counts else None,
    )


def bincount(input: TensorBase, weights: TensorBase | None = None, minlength: int = 0) -> Any:
    """How often each of 0, 1, 2 … occurs, or the sum of the weights of its occurrences."""
    x = input.array
    if minlength < 0:
        raise RuntimeError(f"minlength should be >= 0, got {minlength}")
    if x.dtype.kind not in "iu":
        raise NotImplementedError(f"\"bincount_cpu\" not implemented for '{type_name(x)[6:-6]}'")
    if x.ndim != 1 or (x.size and has_numbers(x) and x.min() < 0):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if not has_numbers(x) and (weights is None or weights.array.shape == x.shape):
        raise NumbersNeeded("bincount()")
    if weights is None:
        return result(input, np.bincount(x.astype(np.int64), minlength=minlength))
    w = weights.array
    if w.shape != x.shape:
        raise RuntimeError(
            f"weights should be 1-d and have the same length as input: {list(w.shape)} and "
            f"{list(x.shape)}"
        )
    sums = np.bincount(x.astype(np.int64), w.astype(np.float64), minlength)
    return result(input, sums.astype(np.float32 if w.dtype == np.float32 else np.float64))


def histc(input: T, bins: int = 100, min: float = 0, max: float = 0) -> T:
    """How many elements fall into each of `bins` equal parts of [min, max]."""
    x = input.array
    if x.dtype not in DIGITS:
        raise NotImplementedError(f"\"histogram_cpu\" not implemented for '{type_name(x)[6:-6]}'")
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    low, high = float(min), float(max)
    if low == high == 0 and x.size and has_numbers(x):
        low, high = float(x.min()), float(x.max())
    if not (np.isfinite(low) and np.isfinite(high)):
        raise RuntimeError(f"torch.histc: range of [{low}, {high}] is not finite")
    if low > high:
        raise RuntimeError("torch.histc: max must be larger than min")
    if not has_numbers(x):
        return result(input, np.empty(bins, x.dtype, like=x))
    if low == high:
        low, high = low - 1, high + 1
    wide = x.reshape(-1)
    wide = wide[(wide >= low) & (wide <= high)]
    if x.dtype in dtypes.HALVES:
        wide = wide.astype(np.float32)
    index = ((wide - wide.dtype.type(low)) * bins / (high - low)).astype(np.int64)
    counts = np.bincount(np.minimum(index, bins - 1), minlength=bins)
    return result(input, counts.astype(x.dtype))


def histogram(
    input: T,
    bins: int | TensorBase,
    *,
    range: tuple[float, float] | None = None,
    weight: TensorBase | None = None,
    density: bool = False,
) -> Any:
    """Counts (or sums of weights) between bin edges, and the edges."""
    x = input.array
    if x.dtype.kind != "f" or x.itemsize < 4:
        raise NotImplementedError(f"\"histogram_cpu\" not implemented for '{type_name(x)[6:-6]}'")
    if isinstance(bins, TensorBase):
        edges = bins.array
    else:
        low, high = range or ((x.min(), x.max()) if x.size else (0, 0))
        if low == high:
            low, high = low - 1, high + 1
        edges = np.linspace(low, high, bins + 1).astype(x.dtype)
    w = None if weight is None else weight.array.reshape(-1)
    counts, _ = np.histogram(x.reshape(-1), edges, weights=w, density=density)
    return return_types.histogram(
        result(input, counts.astype(x.dtype)), result(input, edges.astype(x.dtype))
    )


def bucketize(
    input: Any, boundaries: TensorBase, *, out_int32: bool = False, right: bool = False
) -> Any:
    """The number of the bucket each value falls into, between sorted boundaries."""
    if boundaries.array.ndim != 1:
        raise RuntimeError(
            f"boundaries tensor must be 1 dimension, but got dim({boundaries.array.ndim})"
        )
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)
