"""`x[…]`: reading and writing by index.

An index is worked through in two steps, as torch does it: first everything that only moves the
window (ints, slices, None, `...`), which makes a view; then the index arrays and masks, each at
the dimension where it stood, which make a copy.

    x[0, :, [1, 3]]    window x[0, :, :], then arrays (:, [1, 3])        shape (n, 2)

(numpy counts the 0 among the arrays, and answers (2, n).)
"""

from __future__ import annotations

import math
import operator
import re
from typing import Any

import numpy as np

from minitorch_dist.tensors import graph
from minitorch_dist.tensors.base import Array, T, TensorBase
from minitorch_dist.tensors.graph import record
from minitorch_dist.tensors.nodes import type_name
from minitorch_dist.tensors.ops.accumulation import add_at
from minitorch_dist.tensors.ops.arithmetic import sum_to
from minitorch_dist.tensors.ops.copying import copy_, fill
from minitorch_dist.tensors.views import bump, check_writable, rebase, view_of

Items = tuple[Any, ...]
FULL = slice(None)


def getitem(input: T, index: Any) -> T:
    """`input[index]`: a view if the index only moves the window, else a copy."""
    items = index if type(index) is tuple else (index,)
    for item in items:
        kind = type(item)
        if not (kind is int or kind is slice or item is None or item is Ellipsis):
            window, where = parse(input.array, items)
            return _gather(input, window, where) if where else _window(input, window)
    return _window(input, items)


def _window(input: T, items: Items) -> T:
    """The view that ints, slices, None and `...` make."""
    x = input.array
    shape, dtype = x.shape, x.dtype
    out = look(x, items)

    def widen(grad: Array) -> Array:
        whole = np.zeros(shape, dtype)
        look(whole, items)[...] = grad
        return whole

    return view_of(input, out, _name(items), widen)


def look(x: Array, items: Items) -> Array:
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
            return look(x, items[:first] + tuple(i for i in items[first:] if i is not Ellipsis))
        raise _index_error(x, items, str(error)) from None


def _index_error(x: Array, items: Items, text: str) -> IndexError:
    found = re.match(r"index (-?\d+) is out of bounds for axis (\d+) with size (\d+)", text)
    if found:
        index, axis, side = found.groups()
        return IndexError(f"index {index} is out of bounds for dimension {axis} with size {side}")
    if not x.ndim:
        return IndexError(
            "invalid index of a 0-dim tensor. Use `tensor.item()` to convert a 0-dim tensor to a "
            "number"
        )
    if "too many indices" in text:
        return IndexError(f"too many indices for tensor of dimension {x.ndim}")
    return IndexError(text)


def _name(items: Items) -> str:
    """torch's name for the last step that moved the window."""
    for item in reversed(items):
        if type(item) is slice:
            if item != FULL or len(items) == 1:
                return "SliceBackward0"
        elif item is None:
            return "UnsqueezeBackward0"
        elif item is not Ellipsis:
            return "SelectBackward0"
    return "AliasBackward0"


# ------------------------------------------------------------------------------- index arrays, masks


def parse(x: Array, items: Items) -> tuple[Items, Items]:
    """The window, and the index arrays (with full slices between them) to apply to what it shows."""
    if len(items) == 1 and isinstance(items[0], (list, range)) and _reads_as_tuple(items[0]):
        items = tuple(items[0])
    plain = [_simplify(item) for item in items]
    taken = sum(_takes(item) for item in plain)
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
            window += [FULL] * _takes(item)
            where.append(item)
            axis += _takes(item)
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
        item is None
        or item is Ellipsis
        or isinstance(item, (slice, list, tuple, range, TensorBase))
        for item in items
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
    if isinstance(item, str):
        raise TypeError("new(): invalid data type 'str'")
    try:
        return operator.index(item)
    except TypeError:
        kind = (
            "numpy." + type(item).__name__ if isinstance(item, np.generic) else type(item).__name__
        )
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are "
            f"valid indices (got {kind})"
        ) from None


def _nested(items: Any) -> Array:
    plain = [i.array if isinstance(i, TensorBase) else i for i in items]
    return np.asarray(plain) if plain else np.zeros(0, np.int64)


def _takes(item: Any) -> int:
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
            return np.asarray(x.take(last, len(where) - 1))  # the common case, and faster
        return np.asarray(x[where])
    except IndexError as error:
        raise _arrays_error(x, where, str(error)) from None


def _arrays_error(x: Array, where: Items, text: str) -> IndexError:
    for axis, item in enumerate(spell_out(where)):
        if isinstance(item, np.ndarray) and item.size:
            side = x.shape[axis]
            for index in (int(item.min()), int(item.max())):
                if not -side <= index < side:
                    return IndexError(
                        f"index {index} is out of bounds for dimension {axis} with size {side}"
                    )
    if "shape mismatch" in text:
        shapes = ", ".join(str(list(i.shape)) for i in where if isinstance(i, np.ndarray))
        return IndexError(
            f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}"
        )
    return IndexError(text)


def _moves(window: Items) -> bool:
    return any(item != FULL for item in window)


def _gather(input: T, window: Items, where: Items) -> T:
    x = input.array
    seen = look(x, window) if _moves(window) else x
    out = pick(seen, where)
    shape, dtype = x.shape, x.dtype

    def spread(grad: Array) -> Array:
        whole = np.zeros(shape, dtype)
        region = look(whole, window)
        if names_once(where):
            region[where] = grad
        else:
            add_at(region, spell_out(where), grad)
        return whole

    return record(out, "IndexBackward0", (input, spread))


def names_once(where: Items) -> bool:
    """Whether no place can be named twice: one mask, and nothing else."""
    arrays = [item for item in where if isinstance(item, np.ndarray)]
    return len(arrays) == 1 and arrays[0].dtype.kind == "b"


# ------------------------------------------------------------------------------------------ writing


def setitem(input: TensorBase, index: Any, value: Any) -> None:
    """`input[index] = value`; the value is broadcast, and a view's base is written to."""
    items = index if type(index) is tuple else (index,)
    window, where = parse(input.array, items)
    if not isinstance(value, TensorBase):
        value = number(input, value)
    if not any(graph.wants(input, value)):  # no history to keep: write at once
        check_writable(input)
        seen = look(input.array, window) if _moves(window) else input.array
        if where:
            assign(seen, where, value.array)
        else:
            fill(seen, _without_ones(value.array, seen.ndim))
        bump(input)
        return
    view = _window(input, window) if _moves(window) else input
    if where:
        put(view, where, value)
        return
    extra = value.array.ndim - view.array.ndim
    if extra > 0 and value.array.shape[:extra] == (1,) * extra:
        value = _window(value, (0,) * extra)
    copy_(view, value)


def number(input: TensorBase, value: Any) -> TensorBase:
    """A Python number as a 0-dim tensor of the dtype of `input`."""
    x = input.array
    if not isinstance(value, (int, float, np.integer)):
        raise TypeError(f"can't assign a {_type_of(value)} to a {type_name(x)}")
    with np.errstate(all="ignore"):
        if x.dtype.kind in "iu":
            info = np.iinfo(x.dtype)
            fits = info.min <= value <= info.max
            out = np.array(int(value) if fits else 0, x.dtype)
        else:
            out = np.array(value).astype(x.dtype)
            fits = x.dtype != np.float32 or bool(np.isfinite(out)) or not math.isfinite(value)
    if not fits:
        raise RuntimeError(f"value cannot be converted to type {input.dtype.name} without overflow")
    return graph.result(input, out)


def _type_of(value: Any) -> str:
    kind = type(value)
    return f"numpy.{kind.__name__}" if kind.__module__ == "numpy" else kind.__name__


def put(input: T, where: Items, value: TensorBase, accumulate: bool = False) -> T:
    """Write (or add) `value` at the places `where`, and record it."""
    check_writable(input)
    x, y = input.array, value.array
    node = graph.node_for("IndexPutBackward0", (input, value))
    assign(x, where, y, accumulate)
    bump(input)
    if node is not None:
        mine, theirs = node.edges
        shape = y.shape

        def keep(grad: Array) -> Array:
            if accumulate:
                return grad
            grad = grad.copy()
            grad[where] = 0
            return grad

        def hand_on(grad: Array) -> Array:
            part = pick(grad, where)
            return sum_to(part, shape[max(len(shape) - part.ndim, 0) :]).reshape(shape)

        node.vjps = (keep if mine else None, hand_on if theirs else None)
        node.device = input.storage.device
        rebase(input, (node, 0))
    return input


def assign(x: Array, where: Items, y: Array, accumulate: bool = False) -> None:
    """`x[where] = y` (or `+=`, counting every mention) with torch's complaints."""
    if x.dtype != y.dtype:
        raise RuntimeError(
            "Index put requires the source and destination dtypes match, got "
            f"{type_name(x)[6:-6]} for the destination and {type_name(y)[6:-6]} for the source."
        )
    try:
        if accumulate:
            add_at(x, spell_out(where), y)
        else:
            if names_once(where):  # numpy insists on few dimensions here
                y = _without_ones(y, x.ndim - _takes(where[-1]) + 1)
            x[where] = y
    except IndexError as error:
        raise _arrays_error(x, where, str(error)) from None
    except ValueError:
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(y.shape)} cannot be broadcast to "
            f"indexing result of shape {list(pick(x, where).shape)}"
        ) from None


def spell_out(where: Items) -> Items:
    """`where` with every mask replaced by the index arrays of its true places."""
    out: list[Any] = []
    for item in where:
        out += item.nonzero() if isinstance(item, np.ndarray) and item.dtype.kind == "b" else [item]
    return tuple(out)


def _without_ones(y: Array, ndim: int) -> Array:
    """`y` without the leading ones that are too many for `ndim` dimensions."""
    while y.ndim > ndim and y.shape[0] == 1:
        y = y[0]
    return y
