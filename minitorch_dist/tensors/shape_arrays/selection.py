"""The shape that an index with arrays in it gives: `x[rows]`, `x[:, rows, columns]`, `x[mask]`."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch_dist.tensors.shape_arrays import layouts
from minitorch_dist.tensors.shape_arrays.array import HANDLERS, NumbersNeeded, ShapeArray


def select(x: ShapeArray, key: Any) -> ShapeArray:
    """`x[key]`, a new array. The shape of the index arrays stands where they stand, or in front if they are apart."""
    items = _spelled(x, key if isinstance(key, tuple) else (key,))
    arrays = [item for item in items if isinstance(item, np.ndarray)]
    try:
        chosen = np.broadcast_shapes(*[a.shape for a in arrays])
    except ValueError:
        shapes = " ".join(str(a.shape) for a in arrays)
        raise IndexError(
            f"shape mismatch: indexing arrays could not be broadcast together with shapes {shapes}"
        ) from None
    rest: list[
        Any
    ] = []  # what stays of `x` where no array chooses: a window with one place for each array
    places: list[int] = []  # of the result without the arrays' axes: where each array stood
    axis = kept = 0
    for item in items:
        if isinstance(item, np.ndarray):
            _check(item, axis, x.shape[axis])
            rest.append(0 if x.shape[axis] else slice(0, 0))
            places.append(kept)
            axis += 1
        else:
            rest.append(item)
            kept += 1
            axis += item is not None
    spots = [number for number, item in enumerate(items) if isinstance(item, np.ndarray)]
    together = spots[-1] - spots[0] + 1 == len(spots)
    other = _remaining(x, rest, items)
    made = layouts.packed(
        (*chosen, *other.shape),
        x.dtype,
        (*range(len(chosen)), *(len(chosen) + a for a in _widest_first(other))),
    )
    if not together or not places[0]:
        return made
    return np.moveaxis(made, range(len(chosen)), range(places[0], places[0] + len(chosen)))


def _remaining(x: ShapeArray, rest: list[Any], items: list[Any]) -> ShapeArray:
    """The axes that no array chooses from."""
    window = x[
        tuple(
            slice(None) if isinstance(i, np.ndarray) else r
            for i, r in zip(items, rest, strict=True)
        )
    ]
    keep = [axis for axis, item in enumerate(items) if not isinstance(item, np.ndarray)]
    keep += range(len(items), window.ndim)
    return window.window([window.shape[a] for a in keep], [window.strides[a] for a in keep])  # type: ignore[no-any-return]


def _widest_first(x: ShapeArray) -> list[int]:
    return layouts.axis_order(x.ndim, [tuple(abs(s) for s in x.strides)])


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
        raise IndexError(
            f"too many indices for array: array is {x.ndim}-dimensional, but {taken} were indexed"
        )
    if not any(item is Ellipsis for item in out):
        out.append(Ellipsis)
    place = next(number for number, item in enumerate(out) if item is Ellipsis)
    out[place : place + 1] = [slice(None)] * (x.ndim - taken)
    return out


def _check(index: np.ndarray[Any, Any], axis: int, side: int) -> None:
    if isinstance(index, ShapeArray) or not index.size:
        return
    for number in (int(index.min()), int(index.max())):
        if not -side <= number < side:
            raise IndexError(f"index {number} is out of bounds for axis {axis} with size {side}")


HANDLERS["select"] = select
