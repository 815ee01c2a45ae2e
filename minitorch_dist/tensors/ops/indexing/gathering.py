"""Single elements by indices of the tensor's own shape: gather, scatter and their kin.

    gather    out[i][j] = input[i][index[i][j]]        along dim 1
    scatter   out[i][index[i][j]] = src[i][j]

Along the other dimensions an index may be shorter than the tensor; the rest is left alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch_dist.tensors.autograd.overwriting import Change, both, same_gradient, zero_at
from minitorch_dist.tensors.core.base import Array, T, TensorBase
from minitorch_dist.tensors.core.graph import record, same_device
from minitorch_dist.tensors.core.operations import axis
from minitorch_dist.tensors.ops.accumulation import add_at
from minitorch_dist.tensors.ops.indexing.selecting import check_range

Where = tuple[Any, ...]


def grid(index: Array, dim: int) -> Where:
    """numpy's index for "the place `index` along `dim`, and its own place along the others"."""
    last = index.ndim - 1
    return tuple(
        [
            index if axis == dim else np.arange(n).reshape((n,) + (1,) * (last - axis))
            for axis, n in enumerate(index.shape)
        ]
    )


def places(
    x: Array, dim: int, index: TensorBase, name: str, source: TensorBase | None = None
) -> tuple[Array, int, Where]:
    """`x` with at least one dimension, the axis, and the places that `index` names in it."""
    at = index.array
    place = axis(dim, x.ndim)
    if at.dtype.kind != "i" or at.itemsize < 4:
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index")
    line = x if x.ndim else x.reshape(1)
    at = at if at.ndim else at.reshape(1)
    if at.size == 0:
        return line, place, (at,)
    sides = [n for i, n in enumerate(line.shape) if i != place]
    bounds = [(sides, [n for i, n in enumerate(at.shape) if i != place])]
    if source is not None:
        bounds.append((list(source.array.shape or (1,)), list(at.shape)))
    if at.ndim != line.ndim or any(
        len(a) != len(b) or any(n > m for n, m in zip(b, a, strict=True)) for a, b in bounds
    ):
        raise RuntimeError(
            f"{name}(): Expected index {list(at.shape)} to have as many dimensions as, and to be no larger than, "
            f"self {list(x.shape)} apart from dimension {place}"
            + ("" if source is None else f", and src {list(source.array.shape)}")
        )
    check_range(at, line.shape[place], place)
    return line, place, grid(at, place)


def gather(input: T, dim: int, index: TensorBase, *, sparse_grad: bool = False) -> T:
    """The elements that `index` names along `dim`; the result has its shape."""
    same_device(input, index)
    x = input.array
    line, place, where = places(x, dim, index, "gather")
    at = index.array
    shape, dtype = x.shape, x.dtype
    if not at.size:
        empty = np.zeros(at.shape, dtype, like=x)
        return record(empty, "GatherBackward0", (input, lambda g: np.zeros(shape, dtype, like=g)))
    single = at.ndim > 0 and at.shape[place] == 1  # then no place can be named twice

    def scatter_back(grad: Array) -> Array:
        whole = np.zeros(line_shape, dtype, like=grad)
        values = grad.reshape(where_shape)
        if single:
            whole[where] = values
        else:
            add_at(whole, where, values)
        return whole.reshape(shape)

    line_shape, where_shape = line.shape, at.shape or (1,)
    out = line[where].reshape(at.shape)
    return record(out, "GatherBackward0", (input, scatter_back, index))


# ------------------------------------------------------------------------------------------ scatter


def _scatter(input: T, dim: int, index: TensorBase, src: Any = None, *, value: Any = None) -> Change:
    """`src` (a tensor, or one number: `value`) written to the places that `index` names."""
    src = value if src is None else src
    if not isinstance(src, (TensorBase, int, float, np.number)):
        raise TypeError(f"scatter(): src must be a Tensor or a number, not {type(src).__name__}")
    tensor = src if isinstance(src, TensorBase) else None
    x = input.array
    _, _, where = places(x, dim, index, "scatter", tensor)
    values = _values(x, index, src)

    def write(array: Array) -> None:
        if index.array.size:
            target = array if array.ndim else array.reshape(1)
            target[where] = values

    name = "ScatterBackward1" if tensor is None else "ScatterBackward0"
    if not index.array.size:
        return Change(name, write, same_gradient, tensor, _nothing(tensor))
    return Change(name, write, _blank(where), tensor, _collect(where, tensor), (index,))


def _values(x: Array, index: TensorBase, src: Any) -> Array:
    """The values to write: the part of `src` that `index` covers."""
    if not isinstance(src, TensorBase):
        with np.errstate(all="ignore"):
            return np.asanyarray(src).astype(x.dtype)  # type: ignore[no-any-return]
    if src.array.dtype != x.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    if not index.array.size:
        return src.array
    y = src.array if src.array.ndim else src.array.reshape(1)
    return y[tuple(slice(n) for n in index.array.shape or (1,))]


def _blank(where: Where) -> Any:
    """The gradient of what was overwritten, for 0-dim tensors too."""
    return lambda g: zero_at(where)(g if g.ndim else g.reshape(1)).reshape(g.shape)


def _collect(where: Where, source: TensorBase | None) -> Any:
    """The gradient of what was written."""
    if source is None:
        return None
    shape = source.array.shape

    def hand_on(grad: Array) -> Array:
        part = (grad if grad.ndim else grad.reshape(1))[where]
        whole = np.zeros(shape or (1,), grad.dtype, like=grad)
        whole[tuple(slice(n) for n in part.shape)] = part
        return whole.reshape(shape)

    return hand_on


def _nothing(source: TensorBase | None) -> Any:
    """The gradient of a source of which nothing was read."""
    if source is None:
        return None
    shape = source.array.shape
    return lambda g: np.zeros(shape, g.dtype, like=g)


scatter, scatter_ = both(_scatter)


def _scatter_add(input: T, dim: int, index: TensorBase, src: TensorBase) -> Change:
    """`src` added to the places that `index` names, as often as it names them."""
    x = input.array
    _, _, where = places(x, dim, index, "scatter_add", src)
    values, at = _values(x, index, src), index.array

    def write(array: Array) -> None:
        if at.size:
            add_at(array if array.ndim else array.reshape(1), where, values)

    hand_on = _collect(where, src) if at.size else _nothing(src)
    return Change("ScatterAddBackward0", write, same_gradient, src, hand_on, (index,))


scatter_add, scatter_add_ = both(_scatter_add)
