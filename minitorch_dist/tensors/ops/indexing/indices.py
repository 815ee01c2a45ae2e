"""The meaning of an index, in plain numpy: the window it moves, and the arrays it applies there.

An index is worked through in two steps, as torch does it: first everything that only moves the
window (ints, slices, None, `...`), which makes a view; then the index arrays and masks, each at
the dimension where it stood, which make a copy.

    x[0, :, [1, 3]]    window x[0, :, :], then arrays (:, [1, 3])        shape (n, 2)

(numpy counts the 0 among the arrays, and answers (2, n).)
"""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from minitorch_dist.tensors import devices
from minitorch_dist.tensors.core.base import Array, TensorBase

Items = tuple[Any, ...]
FULL = slice(None)


def basic_index(x: Array, items: Items) -> Array:
    """numpy's basic indexing with torch's complaints; always an array, never a scalar."""
    dots = False
    for item in items:
        if type(item) is slice:
            if item.step is not None and operator.index(item.step) < 0:
                raise ValueError("step must be greater than zero")
        elif item is Ellipsis:
            dots = True
    try:
        return x[items if dots else (*items, ...)]
    except IndexError as error:
        if dots and sum(item is Ellipsis for item in items) > 1:
            first = items.index(Ellipsis) + 1
            return basic_index(x, items[:first] + tuple(i for i in items[first:] if i is not Ellipsis))
        raise _index_error(x, items, str(error)) from None


def _index_error(x: Array, items: Items, text: str) -> IndexError:
    found = re.match(r"index (-?\d+) is out of bounds for axis (\d+) with size (\d+)", text)
    if found:
        index, axis, side = found.groups()
        return IndexError(f"index {index} is out of bounds for dimension {axis} with size {side}")
    if not x.ndim:
        return IndexError("invalid index of a 0-dim tensor. Use `tensor.item()` to convert a 0-dim tensor to a number")
    if "too many indices" in text:
        return IndexError(f"too many indices for tensor of dimension {x.ndim}")
    return IndexError(text)


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
                "indices should be either on cpu or on the same device as the indexed tensor "
                f"({here}), and one is on {item.storage.device}"
            )


def parse(x: Array, items: Items) -> tuple[Items, Items]:
    """The window, and the index arrays (with full slices between them) to apply to what it shows."""
    if len(items) == 1 and isinstance(items[0], (list, range)) and _reads_as_tuple(items[0]):
        items = tuple(items[0])
    plain = [_simplify(item) for item in items]
    taken = sum(takes(item) for item in plain)
    if taken > x.ndim:
        raise _index_error(x, items, "too many indices")
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
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are "
            f"valid indices (got {type(item).__name__})"
        ) from None


def _nested(items: Any) -> Array:
    plain = [i.array if isinstance(i, TensorBase) else i for i in items]
    return np.asanyarray(plain) if plain else np.zeros(0, np.int64)


def takes(item: Any) -> int:
    """How many dimensions of the tensor an item uses up."""
    if isinstance(item, np.ndarray):
        return item.ndim if item.dtype.kind == "b" else 1
    return 0 if item is None or item is Ellipsis or isinstance(item, bool) else 1


def _check_mask(mask: Array, shape: tuple[int, ...], axis: int) -> None:
    for place, side in enumerate(mask.shape):
        if shape[axis + place] != side:
            raise IndexError(
                f"The shape of the mask {list(mask.shape)} at index {place} does not match the "
                f"shape of the indexed tensor {list(shape)} at index {axis + place}"
            )


def pick(x: Array, where: Items) -> Array:
    """numpy's advanced indexing with torch's complaints. Always a copy."""
    try:
        last = where[-1]
        if last.dtype.kind != "b" and all(item is FULL for item in where[:-1]):
            out = np.asanyarray(x.take(last, len(where) - 1))  # the common case, and faster
        else:
            out = np.asanyarray(x[where])
        if not x.size:  # numpy does not look at indices where there is nothing to copy
            named = [(i, a) for i, a in enumerate(spell_out(where)) if isinstance(a, np.ndarray)]
            for axis, _ in named:
                if not x.shape[axis] and all(a.size for _, a in named):
                    raise IndexError(f"index is out of bounds for dimension {axis} with size 0")
        return out  # type: ignore[no-any-return]
    except IndexError as error:
        raise arrays_error(x, where, str(error)) from None


def arrays_error(x: Array, where: Items, text: str) -> IndexError:
    for axis, item in enumerate(spell_out(where)):
        if isinstance(item, np.ndarray) and item.size:
            side = x.shape[axis]
            for index in (int(item.min()), int(item.max())):
                if not -side <= index < side:
                    return IndexError(f"index {index} is out of bounds for dimension {axis} with size {side}")
    if "shape mismatch" in text:
        shapes = ", ".join(str(list(i.shape)) for i in where if isinstance(i, np.ndarray))
        return IndexError(f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}")
    return IndexError(text)


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
