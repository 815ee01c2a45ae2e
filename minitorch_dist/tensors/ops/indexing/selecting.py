"""Whole slices by a vector of indices: `index_select`, and the `index_…` ways to write them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minitorch_dist.tensors.core.base import Array, T, TensorBase
from minitorch_dist.tensors.core.graph import record, same_device
from minitorch_dist.tensors.core.operations import axis, sum_to
from minitorch_dist.tensors.dtypes import type_name
from minitorch_dist.tensors.ops.accumulation import add_at
from minitorch_dist.tensors.ops.indexing import indexing
from minitorch_dist.tensors.ops.indexing.indices import check_devices, parse, pick
from minitorch_dist.tensors.ops.indexing.overwriting import (
    Change,
    both,
    number_or_tensor,
    same_gradient,
    zero_at,
)
from minitorch_dist.tensors.shape_arrays.array import has_numbers

FULL = slice(None)


def vector(index: TensorBase, complaint: str) -> Array:
    """The indices as one dimension."""
    if index.array.dtype.kind != "i" or index.array.itemsize < 4:
        raise RuntimeError(f"{complaint}: Expected dtype int32 or int64 for index")
    if index.array.ndim > 1:
        raise IndexError(f"{complaint}: Index is supposed to be a vector")
    return index.array.reshape(-1)


def check_range(
    index: Array, side: int, dim: int, kind: type[Exception] = RuntimeError, who: str = ""
) -> None:
    """Raise if an index is negative or too large: these functions do not count from the end."""
    if index.size and has_numbers(index):
        for value in (int(index.min()), int(index.max())):
            if not 0 <= value < side:
                raise kind(
                    f"{who}index {value} is out of bounds for dimension {dim} with size {side}"
                )


def _line(x: Array) -> Array:
    """A 0-dim array counts as one of one element."""
    return x if x.ndim else x.reshape(1)


def index_select(input: T, dim: int, index: TensorBase) -> T:
    """The slices along `dim` that `index` names, in its order."""
    same_device(input, index)
    x = input.array
    place = axis(dim, x.ndim)
    at = vector(index, "index_select()")
    if not x.ndim and at.size != 1:
        raise RuntimeError(
            f"index_select(): Index to scalar can have only 1 value, got {at.size} value(s)"
        )
    side = _line(x).shape[place]
    if at.size and has_numbers(at) and not 0 <= at.min() <= at.max() < side:
        raise IndexError(
            f"index out of range in self: {at.min()} … {at.max()} for dimension {dim} of size {side}"
        )
    shape, dtype = x.shape, x.dtype

    def spread(grad: Array) -> Array:
        whole = np.zeros(shape, dtype, like=grad)
        add_at(_line(whole), (FULL,) * place + (at,), grad.reshape((*_line(grad).shape,)))
        return whole

    out = _line(x).take(at, place)
    return record(
        out if x.ndim else out.reshape(()), "IndexSelectBackward0", (input, spread, index)
    )


def _source(input: TensorBase, place: int, at: Array, source: TensorBase) -> None:
    x, y = input.array, source.array
    if x.dtype != y.dtype:
        raise RuntimeError(
            f"index_add_(): self ({type_name(x)[6:-6]}) and source ({type_name(y)[6:-6]}) must "
            "have the same scalar type"
        )
    side = y.shape[place] if y.ndim > place else 1
    if x.ndim and side != at.size:
        raise RuntimeError(
            f"index_add_(): Number of indices ({at.size}) should be equal to source.size(dim): "
            f"({side}), for dim: {place}"
        )
    if (
        x.shape[:place] + x.shape[place + 1 :] != y.shape[:place] + y.shape[place + 1 :]
        or x.ndim != y.ndim
    ):
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. "
            f"Got self.shape = {list(x.shape)} source.shape = {list(y.shape)}"
        )


def _index_add(
    input: T, dim: int, index: TensorBase, source: TensorBase, *, alpha: float = 1
) -> Change:
    """`alpha * source` added to the slices that `index` names, as often as it names them."""
    x, y = input.array, source.array
    place, at = axis(dim, x.ndim), vector(index, "index_add_()")
    _source(input, place, at, source)
    check_range(at, _line(x).shape[place], place)
    where = (FULL,) * place + (at,)
    shape = y.shape

    def write(array: Array) -> None:
        values = y if alpha == 1 else (y * alpha).astype(y.dtype)
        add_at(_line(array), where, _line(values))

    def hand_on(grad: Array) -> Array:
        part = _line(grad).take(at, place).reshape(shape)
        return part if alpha == 1 else (part * alpha).astype(grad.dtype)

    return Change("IndexAddBackward0", write, same_gradient, source, hand_on, (index,))


index_add, index_add_ = both(_index_add)


def _index_copy(input: T, dim: int, index: TensorBase, source: TensorBase) -> Change:
    """The slices that `index` names replaced by those of `source`."""
    x, y = input.array, source.array
    place = axis(dim, x.ndim)
    if index.array.dtype != np.int64:
        raise RuntimeError(
            f"index_copy_(): Expected a long tensor for index, but got {type_name(index.array)[6:-6]}"
        )
    at = vector(index, "index_copy_()")
    if x.dtype != y.dtype:
        raise RuntimeError(
            "index_copy_(): self and source expected to have the same dtype, but got (self) "
            f"{type_name(x)[6:-6]} and (source) {type_name(y)[6:-6]}"
        )
    own, other = _line(x), _line(y)
    if own.shape[:place] + own.shape[place + 1 :] != other.shape[:place] + other.shape[place + 1 :]:
        raise RuntimeError(
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination "
            f"shape: {list(x.shape)} and source shape: {list(y.shape)}, at dimension {place}."
        )
    if other.shape[place] != at.size:
        raise IndexError(
            f"index_copy_(): Number of indices ({at.size}) should be equal to source.size(dim) "
            f"({other.shape[place]})"
        )
    check_range(at, own.shape[place], place, IndexError, "index_copy_(): ")
    where = (FULL,) * place + (at,)
    shape = y.shape

    def write(array: Array) -> None:
        _line(array)[where] = other

    def keep(grad: Array) -> Array:
        return zero_at(where)(_line(grad)).reshape(grad.shape)

    def hand_on(grad: Array) -> Array:
        return _line(grad).take(at, place).reshape(shape)

    return Change("IndexCopyBackward0", write, keep, source, hand_on, (index,))


index_copy, index_copy_ = both(_index_copy)


def _index_fill(input: T, dim: int, index: TensorBase, value: Any) -> Change:
    """The slices that `index` names filled with `value`, a number or a 0-dim tensor."""
    x = input.array
    place = axis(dim, x.ndim)
    if index.array.dtype != np.int64:
        raise IndexError("index_fill_(): Expected dtype int64 for index.")
    if index.array.ndim > 1:
        raise RuntimeError("Index has to be a vector/scalar")
    at = index.array.reshape(-1)
    side = _line(x).shape[place]
    for found in (int(at.min()), int(at.max())) if at.size and has_numbers(at) else ():
        if not -side <= found < side:
            raise IndexError(
                f"index {found} is out of bounds for dimension {place} with size {side}"
            )
    number, source = number_or_tensor(value, "index_fill_")
    kind = None if source is None else number.dtype
    where = (FULL,) * place + (at,)
    once = (FULL,) * place + (np.unique(at % max(side, 1)),)

    def write(array: Array) -> None:
        with np.errstate(all="ignore"):
            _line(array)[where] = np.asanyarray(number).astype(array.dtype)

    def keep(grad: Array) -> Array:
        return zero_at(where)(_line(grad)).reshape(grad.shape)

    def hand_on(grad: Array) -> Array:
        return np.asanyarray(_line(grad)[once].sum(dtype=grad.dtype)).astype(kind)  # type: ignore[no-any-return]

    name = "IndexFillBackward0" if source is None else "IndexFillBackward1"
    return Change(name, write, keep, source, hand_on, (index,))


index_fill, index_fill_ = both(_index_fill)


def _index_put(
    input: T, indices: Sequence[TensorBase], values: TensorBase, accumulate: bool = False
) -> Change:
    """`input[indices] = values`, or `+= values`, where places named twice get both."""
    if isinstance(indices, TensorBase) or not isinstance(indices, (list, tuple)):
        raise TypeError(
            "index_put(): argument 'indices' (position 1) must be tuple of Tensors, not "
            f"{type(indices).__name__}"
        )
    for number, index in enumerate(indices):
        if index is not None and not isinstance(index, TensorBase):
            raise TypeError(
                f"expected Tensor as element {number} in argument 0, but got {type(index).__name__}"
            )
    if not isinstance(values, TensorBase):
        raise TypeError(
            "index_put(): argument 'values' (position 2) must be Tensor, not "
            f"{type(values).__name__}"
        )
    check_devices(input, indices)
    items = tuple([FULL if i is None else _as_array(i) for i in indices])
    _, where = parse(input.array, items)
    shape = values.array.shape

    def write(array: Array) -> None:
        indexing.assign(array, where, values.array, accumulate)

    def hand_on(grad: Array) -> Array:
        part = pick(grad, where)
        return sum_to(part, shape[max(len(shape) - part.ndim, 0) :]).reshape(shape)

    keep = same_gradient if accumulate else zero_at(where)
    reads = tuple(i for i in indices if i is not None)
    return Change("IndexPutBackward0", write, keep, values, hand_on, reads, mixed=True)


def _as_array(index: TensorBase) -> Any:
    """An index tensor; one without dimensions still names a place, and does not move the window."""
    return index if index.array.ndim else index.array.reshape(1)


index_put, index_put_ = both(_index_put)
