"""The shape that an index with arrays in it gives: `x[rows]`, `x[:, rows, columns]`, `x[mask]`."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch_dist.tensors.core.base import Array
from minitorch_dist.tensors.shape_arrays.answers import ask
from minitorch_dist.tensors.shape_arrays.array import HANDLERS, NumbersNeeded, ShapeArray


def select(x: ShapeArray, key: Any) -> Any:
    """`x[key]`, a new array: slices and None move the window, then the arrays choose from what it shows."""
    items = _spelled(x, key if isinstance(key, tuple) else (key,))
    arrays = [item if isinstance(item, np.ndarray) else None for item in items]
    moves = [slice(None) if a is not None else i for a, i in zip(arrays, items, strict=True)]
    window = x[tuple(moves)]
    for axis, array in enumerate(arrays):
        if array is not None:
            check_range(array, axis, window.shape[axis])
    return ask(_chosen, window, *arrays)


def _chosen(window: Array, *arrays: Any) -> Any:
    return window[tuple([slice(None) if array is None else array for array in arrays])]


def _spelled(x: ShapeArray, items: tuple[Any, ...]) -> list[Any]:
    """One item for each axis: slices, None and arrays of integers."""
    out: list[Any] = []
    for item in items:
        if item is None or item is Ellipsis or isinstance(item, slice):
            out.append(item)
            continue
        array = item if isinstance(item, np.ndarray) else np.asarray(item)
        if array.dtype.kind == "b":
            if isinstance(array, ShapeArray):
                raise NumbersNeeded("the places where a mask is true")
            out += array.nonzero()
        elif array.dtype.kind in "iu" or not array.size:
            out.append(array)
        else:
            raise IndexError("arrays used as indices must be of integer (or boolean) type")
    taken = sum(item is not None and item is not Ellipsis for item in out)
    if taken > x.ndim:
        raise IndexError(f"too many indices for array: array is {x.ndim}-dimensional, but {taken} were indexed")
    if not any(item is Ellipsis for item in out):
        out.append(Ellipsis)
    place = next(number for number, item in enumerate(out) if item is Ellipsis)
    out[place : place + 1] = [slice(None)] * (x.ndim - taken)
    return out


def check_range(index: np.ndarray[Any, Any], axis: int, side: int) -> None:
    """Raise for an index that is out of bounds, where its numbers are known."""
    if isinstance(index, ShapeArray) or not index.size:
        return
    for number in (int(index.min()), int(index.max())):
        if not -side <= number < side:
            raise IndexError(f"index {number} is out of bounds for axis {axis} with size {side}")


HANDLERS["select"] = select
