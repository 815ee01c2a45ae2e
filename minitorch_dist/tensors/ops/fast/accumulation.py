"""The fast form of `ops.accumulation`: `np.add.at` takes one element after the other.

Where many values come together, each place gets their sum at once (`sum_groups`).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.core.base import Array
from minitorch_dist.tensors.ops import accumulation as simple
from minitorch_dist.tensors.ops.accumulation import sum_groups
from minitorch_dist.tensors.ops.plugs import instead_of
from minitorch_dist.tensors.shape_arrays.array import has_numbers

SMALL = 256  # below this many values the simple form is faster


@instead_of(simple.add_at)
def add_at(target: Array, where: tuple[Any, ...], values: Array) -> None:
    is_quick = values.size <= SMALL and target.dtype not in dtypes.HALVES
    if is_quick or not has_numbers(target):
        np.add.at(target, where, values)
        return
    indexed = [axis for axis, item in enumerate(where) if isinstance(item, np.ndarray)]
    arrays = np.broadcast_arrays(*(where[axis] for axis in indexed))
    sides = tuple([target.shape[axis] for axis in indexed])
    places = np.ravel_multi_index(
        [_from_front(a, n) for a, n in zip(arrays, sides, strict=True)], sides
    ).ravel()
    # numpy puts the indexed dimensions where they were if they are neighbours, else in front
    neighbours = indexed == list(range(indexed[0], indexed[0] + len(indexed)))
    first, count = (indexed[0] if neighbours else 0), arrays[0].ndim
    values = np.broadcast_to(values, _result_shape(target, indexed, arrays[0].shape, first))
    values = np.moveaxis(values, range(first, first + count), range(count))
    front = np.moveaxis(target, indexed, range(len(indexed)))
    rest = front.shape[len(indexed) :]
    rows, sums = sum_rows(places, values.reshape(len(places), math.prod(rest)), math.prod(sides))
    into = np.unravel_index(rows, sides)
    front[into] += sums.reshape(len(rows), *rest).astype(target.dtype, copy=False)


def _from_front(index: Array, side: int) -> Array:
    return np.where(index < 0, index + side, index)


def _result_shape(target: Array, indexed: list[int], shape: tuple[int, ...], first: int) -> tuple[int, ...]:
    rest = [n for axis, n in enumerate(target.shape) if axis not in indexed]
    return (*rest[:first], *shape, *rest[first:])


def sum_rows(places: Array, values: Array, count: int) -> tuple[Array, Array]:
    """The distinct `places` (below `count`), and for each the sum of its rows of `values`."""
    if values.dtype in dtypes.HALVES:
        values = values.astype(np.float32)
    if values.shape[1] == 1 and values.dtype.kind == "f" and count <= 4 * len(places):
        sums = np.bincount(places, values[:, 0], count)
        return np.arange(count), sums[:, None]
    if count <= 1 << 16:
        places = places.astype(np.uint16)  # numpy sorts these digit by digit, 7 times as fast
    return sum_groups(places, values)
