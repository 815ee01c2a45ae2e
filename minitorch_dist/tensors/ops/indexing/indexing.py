"""`x[…]`: reading and writing by index. `indices` works out the meaning of an index."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch_dist.tensors.autograd import joint
from minitorch_dist.tensors.autograd.overwriting import Change, overwrite, zero_at
from minitorch_dist.tensors.core import base, graph
from minitorch_dist.tensors.core.base import Array, T, TensorBase
from minitorch_dist.tensors.core.graph import record
from minitorch_dist.tensors.core.operations import sum_to
from minitorch_dist.tensors.core.views import bump, check_writable, view_of
from minitorch_dist.tensors.dtypes import type_name
from minitorch_dist.tensors.ops.accumulation import add_at, zeros_around
from minitorch_dist.tensors.ops.elementwise.copying import copy_, fill
from minitorch_dist.tensors.ops.indexing import indices
from minitorch_dist.tensors.ops.indexing.indices import FULL, Items, with_dots
from minitorch_dist.tensors.promotion import as_element


def getitem(input: T, index: Any) -> T:
    """`input[index]`: a view if the index only moves the window, else a copy."""
    items = index if type(index) is tuple else (index,)
    for item in items:
        kind = type(item)
        if not (kind is int or kind is slice or item is None or item is Ellipsis):
            indices.check_devices(input, items)
            window, where = indices.parse(input.array, items)
            if not where:
                return _window(input, window)
            return _gather(input, window, where, [i for i in items if isinstance(i, TensorBase)])
    return _window(input, items)


def _window(input: T, items: Items) -> T:
    """The view that ints, slices, None and `...` make."""
    x, where = input.array, with_dots(items)
    return view_of(input, x[where], _name(items), zeros_around(x, where))


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


def _gather(input: T, window: Items, where: Items, reads: list[TensorBase]) -> T:
    """The copy that index arrays and masks make of what the window shows."""
    x = input.array
    seen = x[with_dots(window)] if indices.moves(window) else x
    out = indices.pick(seen, where)
    shape, dtype = x.shape, x.dtype

    def spread(grad: Array) -> Array:
        whole = np.zeros(shape, dtype, like=grad)
        region = whole[with_dots(window)]
        if indices.names_once(where):
            region[where] = grad
        else:
            add_at(region, indices.spell_out(where), grad)
        return whole

    source: Any = (input, spread, *reads)
    found: T = record(out, "IndexBackward0", source)
    return found


# ------------------------------------------------------------------------------------------ writing


def setitem(input: TensorBase, index: Any, value: Any) -> None:
    """`input[index] = value`; the value is broadcast, and a view's base is written to."""
    if index is False:  # nothing is named
        return
    items = index if type(index) is tuple else (index,)
    indices.check_devices(input, items)
    window, where = indices.parse(input.array, items)
    if not isinstance(value, TensorBase):
        value = number(input, value)
    if where:
        graph.same_device(input, value)
    if not any(joint.wants(input, value)):  # no history to keep: write at once
        check_writable(input)
        seen = input.array[with_dots(window)] if indices.moves(window) else input.array
        if where:
            assign(seen, where, value.array)
        else:
            fill(seen, _without_ones(value.array, seen.ndim))
        bump(input)
        return
    view = _window(input, window) if indices.moves(window) else input
    if where:
        _put(view, where, value, [i for i in items if isinstance(i, TensorBase)])
        return
    extra = value.array.ndim - view.array.ndim
    if extra > 0 and value.array.shape[:extra] == (1,) * extra:
        value = _window(value, (0,) * extra)
    copy_(view, value)


def number(input: TensorBase, value: Any) -> TensorBase:
    """A Python number as a 0-dim tensor of the dtype of `input`."""
    is_known = isinstance(value, (int, float, np.integer))
    if not is_known and not (isinstance(value, complex) and input.dtype.is_complex):
        raise TypeError(f"can't assign a {type(value).__name__} to a {type_name(input.array)}")
    made: TensorBase = base.new(input.plain, as_element(value, input.dtype), input.storage.device)
    return made


def _put(input: T, where: Items, value: TensorBase, reads: list[TensorBase]) -> T:
    """Write `value` at the places `where`, and record it. `reads` are the tensors among these."""
    shape = value.array.shape

    def hand_on(grad: Array) -> Array:
        seen = indices.pick(grad, where)
        return sum_to(seen, shape[max(len(shape) - seen.ndim, 0) :]).reshape(shape)

    change = Change(
        "IndexPutBackward0", lambda x: assign(x, where, value.array), zero_at(where), value, hand_on, tuple(reads)
    )
    return overwrite(input, change)


def assign(x: Array, where: Items, y: Array) -> None:
    """`x[where] = y`, for an array of the same type."""
    if x.dtype != y.dtype:
        raise RuntimeError(f"{y.dtype} cannot be written to places of {x.dtype}: convert it with to()")
    try:
        if indices.names_once(where):  # numpy insists on few dimensions here
            y = _without_ones(y, x.ndim - indices.takes(where[-1]) + 1)
        x[where] = y
    except ValueError:
        seen = list(indices.pick(x, where).shape)
        raise RuntimeError(f"a value of shape {list(y.shape)} cannot be written to places of shape {seen}") from None


def _without_ones(y: Array, ndim: int) -> Array:
    """`y` without the leading ones that are too many for `ndim` dimensions."""
    while y.ndim > ndim and y.shape[0] == 1:
        y = y[0]
    return y
