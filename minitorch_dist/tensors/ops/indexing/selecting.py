"""Whole slices by a vector of indices: `index_select`, and the `index_…` ways to write them."""

from __future__ import annotations

from minitorch_dist.tensors.autograd.overwriting import Change, both, same_gradient
from minitorch_dist.tensors.core.base import Array, T, TensorBase
from minitorch_dist.tensors.core.graph import record, same_device
from minitorch_dist.tensors.core.operations import axis
from minitorch_dist.tensors.ops.accumulation import add_at, zeros_around
from minitorch_dist.tensors.shape_arrays.array import has_numbers

FULL = slice(None)


def vector(x: Array, index: TensorBase, complaint: str) -> Array:
    """The indices as one dimension."""
    if not x.ndim:
        raise IndexError(f"{complaint}: a 0-dim tensor has no slices")
    if index.array.dtype.kind != "i" or index.array.itemsize < 4:
        raise RuntimeError(f"{complaint}: Expected dtype int32 or int64 for index")
    if index.array.ndim > 1:
        raise IndexError(f"{complaint}: Index is supposed to be a vector")
    return index.array.reshape(-1)


def check_range(index: Array, side: int, dim: int, kind: type[Exception] = RuntimeError, who: str = "") -> None:
    """Raise if an index is negative or too large: these functions do not count from the end."""
    if index.size and has_numbers(index):
        for value in (int(index.min()), int(index.max())):
            if not 0 <= value < side:
                raise kind(f"{who}index {value} is out of bounds for dimension {dim} with size {side}")


def index_select(input: T, dim: int, index: TensorBase) -> T:
    """The slices along `dim` that `index` names, in its order."""
    same_device(input, index)
    x = input.array
    place, at = axis(dim, x.ndim), vector(x, index, "index_select()")
    check_range(at, x.shape[place], place, IndexError, "index_select(): ")
    widen = zeros_around(x, (FULL,) * place + (at,), twice=True)
    return record(x.take(at, place), "IndexSelectBackward0", (input, widen, index))


def _check_source(name: str, x: Array, y: Array, place: int, at: Array) -> None:
    """`y` has a slice for each index, of the shape and type of the slices of `x`."""
    own, other = list(x.shape), list(y.shape)
    own[place : place + 1] = [at.size]
    if own != other or x.dtype != y.dtype:
        raise RuntimeError(f"{name}(): the source must be {x.dtype} of shape {own}, but is {y.dtype} of shape {other}")


def _index_add(input: T, dim: int, index: TensorBase, source: TensorBase, *, alpha: float = 1) -> Change:
    """`alpha * source` added to the slices that `index` names, as often as it names them."""
    x, y = input.array, source.array
    place, at = axis(dim, x.ndim), vector(x, index, "index_add_()")
    _check_source("index_add_", x, y, place, at)
    check_range(at, x.shape[place], place)
    where = (FULL,) * place + (at,)

    def write(array: Array) -> None:
        values = y if alpha == 1 else (y * alpha).astype(y.dtype)
        add_at(array, where, values)

    def hand_on(grad: Array) -> Array:
        part = grad.take(at, place)
        return part if alpha == 1 else (part * alpha).astype(grad.dtype)

    return Change("IndexAddBackward0", write, same_gradient, source, hand_on, (index,))


index_add, index_add_ = both(_index_add)
