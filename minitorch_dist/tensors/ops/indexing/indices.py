"""The meaning of an index, in plain numpy: the window it moves, and the arrays it applies there.

An index is worked through in two steps, as torch does it: first everything that only moves the
window (ints, slices, None, `...`), which makes a view; then the index arrays and masks, each at
the dimension where it stood, which make a copy.

    x[0, :, [1, 3]]    window x[0, :, :], then arrays (:, [1, 3])        shape (n, 2)

(numpy counts the 0 among the arrays, and answers (2, n).)
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

import numpy as np

from minitorch_dist.tensors import devices
from minitorch_dist.tensors.core.base import Array, TensorBase

Items = tuple[Any, ...]
FULL = slice(None)


def with_dots(items: Items) -> Items:
    """The items of a window, with one `...` among them, so that numpy gives an array and never a scalar."""
    dots = 0
    for item in items:
        if type(item) is slice:
            if item.step is not None and operator.index(item.step) < 0:
                raise ValueError("step must be greater than zero")
        elif item is Ellipsis:
            dots += 1
    if dots > 1:
        first = items.index(Ellipsis) + 1
        return items[:first] + tuple(i for i in items[first:] if i is not Ellipsis)
    return items if dots else (*items, ...)


def moves(window: Items) -> bool:
    return any(item != FULL for item in window)


# ------------------------------------------------------------------------------- index arrays, masks


def check_devices(input: TensorBase, items: Iterable[Any]) -> None:
    """Raise for an index tensor that is neither on the CPU nor where `input` is."""
    here = input.storage.device
    for item in items:
        if not isinstance(item, TensorBase) or item.plain is not input.plain:
            continue
        if item.storage.device not in (here, devices.CPU):
            raise RuntimeError(
                f"indices should be either on cpu or on the same device, {here}, and not on {item.storage.device}"
            )


def parse(x: Array, items: Items) -> tuple[Items, Items]:
    """The window, and the index arrays (with full slices between them) to apply to what it shows."""
    if len(items) == 1 and isinstance(items[0], (list, range)) and _reads_as_tuple(items[0]):
        items = tuple(items[0])
    plain = [_simplify(item) for item in items]
    taken = sum(takes(item) for item in plain)
    if taken > x.ndim:
        raise IndexError(f"too many indices for tensor of dimension {x.ndim}")
    window: list[Any] = []
    where: list[Any] = []
    axis = 0  # of x: where the next item applies
    for item in plain:
        if item is Ellipsis:
            skipped, taken = x.ndim - taken, x.ndim
            window += [FULL] * skipped
            where += [FULL] * skipped
            axis += skipped
        elif item is True or item is False:  # a dimension of its own, kept or dropped
            window.append(None)
            where.append(np.zeros(int(item), np.intp))
        elif isinstance(item, np.ndarray):
            if item.dtype.kind == "b":
                _check_mask(item, x.shape, axis)
            window += [FULL] * takes(item)
            where.append(item)
            axis += takes(item)
        else:
            window.append(item)
            if item is None or type(item) is slice:
                where.append(FULL)
            axis += item is not None
    while where and where[-1] is FULL:
        where.pop()
    return tuple(window), tuple(where)


def _reads_as_tuple(items: Any) -> bool:
    """`x[[0, None]]` is read as `x[0, None]`, and `x[[[0, 1], [2, 3]]]` as `x[[0, 1], [2, 3]]`."""
    return len(items) < 32 and any(
        item is None or item is Ellipsis or isinstance(item, (slice, list, tuple, range, TensorBase)) for item in items
    )


def _simplify(item: Any) -> Any:
    """An item as int, slice, None, Ellipsis, True, False, or an array of int64 or bool."""
    if item is None or item is Ellipsis or isinstance(item, (slice, bool)):
        return item
    if isinstance(item, TensorBase):
        array = item.array
        if array.dtype.kind == "u":  # bytes are masks, as they were before there were bools
            array = array.astype(bool)
        elif array.dtype.kind != "b" and (array.dtype.itemsize < 4 or array.dtype.kind != "i"):
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
        return array if array.ndim else array.item()
    if isinstance(item, (np.ndarray, list, tuple, range)):
        array = item if isinstance(item, np.ndarray) else _nested(item)
        if array.dtype.kind not in "biuf":
            raise TypeError(f"new(): invalid data type '{array.dtype.type.__name__.rstrip('_')}'")
        if array.dtype.kind != "b":
            array = array.astype(np.int64)
        return array if array.ndim else array.item()
    try:
        return operator.index(item)
    except TypeError:
        raise IndexError(f"indices are integers, slices, `...`, None and tensors, not {type(item).__name__}") from None


def _nested(items: Any) -> Array:
    plain = [i.array if isinstance(i, TensorBase) else i for i in items]
    return np.asanyarray(plain) if plain else np.zeros(0, np.int64)


def takes(item: Any) -> int:
    """How many dimensions of the tensor an item uses up."""
    if isinstance(item, np.ndarray):
        return item.ndim if item.dtype.kind == "b" else 1
    return 0 if item is None or item is Ellipsis or isinstance(item, bool) else 1


def _check_mask(mask: Array, shape: tuple[int, ...], axis: int) -> None:
    seen = shape[axis : axis + mask.ndim]
    if seen != mask.shape:
        raise IndexError(f"a mask of shape {list(mask.shape)} does not fit a tensor whose shape there is {list(seen)}")


def pick(x: Array, where: Items) -> Array:
    """numpy's advanced indexing. Always a copy."""
    last = where[-1]
    if last.dtype.kind != "b" and all(item is FULL for item in where[:-1]):
        return np.asanyarray(x.take(last, len(where) - 1))  # the common case, and faster
    return np.asanyarray(x[where])


def spell_out(where: Items) -> Items:
    """`where` with every mask replaced by the index arrays of its true places."""
    out: list[Any] = []
    for item in where:
        out += item.nonzero() if isinstance(item, np.ndarray) and item.dtype.kind == "b" else [item]
    return tuple(out)


def names_once(where: Items) -> bool:
    """Whether no place can be named twice: one mask, and nothing else."""
    arrays = [item for item in where if isinstance(item, np.ndarray)]
    return len(arrays) == 1 and arrays[0].dtype.kind == "b"
