"""Sorting, and the first few of a sorted order. NaN counts as larger than every number.

All of them are stable (equal elements keep their order), so that results are the same on every machine.
"""

from __future__ import annotations

import numpy as np

from minitorch_dist.tensors import dtypes, return_types
from minitorch_dist.tensors.core.base import Array, T
from minitorch_dist.tensors.core.graph import result
from minitorch_dist.tensors.core.operations import axis
from minitorch_dist.tensors.ops.along_axes.extrema import taken
from minitorch_dist.tensors.promotion import demand_order


def order(x: Array, along: int, descending: bool) -> Array:
    """The indices that sort `x`; a 0-dim array counts as a vector."""
    demand_order("sort", x)
    x = x if x.ndim else x[None]
    if x.dtype in dtypes.HALVES:
        x = x.astype(np.float32)
    if not descending:
        return np.argsort(x, along, kind="stable")
    # Equal elements keep their order: sort the mirror image, and look at it in a mirror.
    mirrored = np.argsort(np.flip(x, along), along, kind="stable")
    return np.asanyarray(x.shape[along] - 1 - np.flip(mirrored, along))


def sort(input: T, dim: int = -1, descending: bool = False, *, stable: bool = False) -> return_types.sort[T]:
    """The elements in order, and where they stood."""
    along = axis(dim, input.array.ndim)
    index = order(input.array, along, descending)
    return return_types.sort(*taken(input, index, along, True, "SortBackward0"))


def argsort(input: T, dim: int = -1, descending: bool = False, *, stable: bool = False) -> T:
    """The indices that sort."""
    x = input.array
    return result(input, order(x, axis(dim, x.ndim), descending).reshape(x.shape))


def topk(input: T, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> return_types.topk[T]:
    """The k largest (or smallest) elements in order, and where they stand."""
    x = input.array
    along = axis(dim, x.ndim)
    count = x.shape[along] if x.ndim else 1
    if not 0 <= k <= count:
        raise RuntimeError(f"selected index k out of range: {k} of {count} elements")
    if x.dtype.kind == "b":
        raise RuntimeError("topk does not support bool dtypes on CPU")
    index = order(x, along, largest)
    if k < count and x.ndim:
        index = index[(slice(None),) * along + (slice(k),)].copy()  # not a view of the whole order
    return return_types.topk(*taken(input, index, along, True, "TopkBackward0"))
