"""Sorting, and the first few of a sorted order. NaN counts as larger than every number.

All of them are stable (equal elements keep their order), so that results are the same on every machine.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch_dist.tensors import dtypes, return_types
from minitorch_dist.tensors.core.base import Array, T
from minitorch_dist.tensors.core.graph import record, result
from minitorch_dist.tensors.core.operations import axis
from minitorch_dist.tensors.ops.along_axes.extrema import placed
from minitorch_dist.tensors.ops.elementwise.copying import row_major
from minitorch_dist.tensors.shape_arrays.array import has_numbers

LONG = 1024  # rows longer than this are searched by partition instead of sorted


def order(x: Array, along: int, descending: bool) -> Array:
    """The indices that sort `x`."""
    if x.dtype in dtypes.HALVES:
        x = x.astype(np.float32)
    elif x.dtype.kind == "c":
        raise RuntimeError(" Sort does not support complex dtypes on CPU")
    if not descending:
        return np.argsort(x, along, kind="stable")
    # Equal elements keep their order: sort the mirror image, and look at it in a mirror.
    mirrored = np.argsort(np.flip(x, along), along, kind="stable")
    return np.asanyarray(x.shape[along] - 1 - np.flip(mirrored, along))


def taken(input: T, index: Array, along: int, name: str) -> tuple[T, T]:
    """The elements at `index` along one axis, and the indices as a tensor."""
    x = input.array
    shape, indices = x.shape, result(input, index)
    values = record(
        np.take_along_axis(x, index, along),
        name,
        (input, lambda g: placed(g, index, along, shape), indices),
    )
    return values, indices


def _lone(input: T, name: str) -> tuple[T, T]:
    """A 0-dim tensor is its own order."""
    index = result(input, np.zeros((), np.int64, like=input.array))
    return record(input.array.copy(), name, (input, lambda g: g, index)), index


def sort(input: T, dim: int = -1, descending: bool = False, *, stable: bool = False) -> Any:
    """The elements in order, and where they stood."""
    along = axis(dim, input.array.ndim)
    if not input.array.ndim:
        return return_types.sort(*_lone(input, "SortBackward0"))
    index = order(input.array, along, descending)
    return return_types.sort(*taken(input, index, along, "SortBackward0"))


def argsort(input: T, dim: int = -1, descending: bool = False, *, stable: bool = False) -> T:
    """The indices that sort."""
    along = axis(dim, input.array.ndim)
    if not input.array.ndim:
        return result(input, np.zeros((), np.int64, like=input.array))
    return result(input, order(input.array, along, descending))


def msort(input: T) -> T:
    """The elements in order along the first axis."""
    values: T = sort(input, 0).values
    return values


def topk(input: T, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """The k largest (or smallest) elements in order, and where they stand."""
    x = input.array
    along = axis(dim, x.ndim)
    if not 0 <= k <= (x.shape[along] if x.ndim else 1):
        raise RuntimeError(
            f"selected index k out of range: {k} of {x.shape[along] if x.ndim else 1} elements"
        )
    if x.dtype.kind in "bc":
        kind = "bool" if x.dtype.kind == "b" else "complex"
        raise RuntimeError(f"topk does not support {kind} dtypes on CPU")
    if not x.ndim:
        return return_types.topk(*_lone(input, "TopkBackward0"))
    index = _first(x, k, along, largest)
    return return_types.topk(*taken(input, index, along, "TopkBackward0"))


def _first(x: Array, k: int, along: int, largest: bool) -> Array:
    """The first k indices of the order. Simple form: sort everything; long rows: partition first."""
    if x.shape[along] > LONG and 0 < 4 * k < x.shape[along]:
        rows = np.moveaxis(x, along, -1)
        rows = rows.astype(np.float32) if x.dtype in dtypes.HALVES else rows
        found = _by_partition(rows.reshape(-1, x.shape[along]), k, largest)
        if found is not None:
            return row_major(np.moveaxis(found.reshape(*rows.shape[:-1], k), -1, along))
    index = order(x, along, largest)
    return index[(slice(None),) * along + (slice(k),)].copy()  # not a view of the whole order


def _by_partition(rows: Array, k: int, largest: bool) -> Array | None:
    """Find the k-th value; take what lies beyond it, and the first of those that equal it."""
    if rows.dtype.kind == "f" and np.isnan(rows).any():
        return None
    if not has_numbers(rows):
        return None
    at = rows.shape[1] - k if largest else k - 1
    last = np.partition(rows, at, axis=1)[:, at, None]
    beyond, equal = (rows > last if largest else rows < last), rows == last
    left = k - beyond.sum(1, keepdims=True)
    chosen = beyond | (equal & (np.cumsum(equal, 1) <= left))
    index = np.nonzero(chosen)[1].reshape(len(rows), k)
    inside = order(np.take_along_axis(rows, index, 1), 1, largest)
    return np.take_along_axis(index, inside, 1)


def kthvalue(input: T, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """The k-th smallest element (counted from 1), and where it stands."""
    x = input.array
    along = axis(dim, x.ndim)
    if not 1 <= k <= (x.shape[along] if x.ndim else 1):
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {along}: {k}")
    if not x.ndim:
        return return_types.kthvalue(*_lone(input, "KthvalueBackward0"))
    index = order(x, along, False)[(slice(None),) * along + (slice(k - 1, k),)].copy()
    shape = x.shape
    values = np.take_along_axis(x, index, along)

    def gradient(g: Array) -> Array:
        return placed(g if keepdim else np.expand_dims(g, along), index, along, shape)

    indices = result(input, index if keepdim else index.squeeze(along))
    values = values if keepdim else values.squeeze(along)
    value = record(values, "KthvalueBackward0", (input, gradient, indices))
    return return_types.kthvalue(value, indices)
