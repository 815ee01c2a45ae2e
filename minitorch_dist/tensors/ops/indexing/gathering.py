"""Single elements by indices of the tensor's own shape: gather, scatter and their kin.

    gather    out[i][j] = input[i][index[i][j]]        along dim 1
    scatter   out[i][index[i][j]] = src[i][j]

Along the other dimensions an index may be shorter than the tensor; the rest is left alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch_dist.tensors.core import graph
from minitorch_dist.tensors.core.base import Array, T, TensorBase
from minitorch_dist.tensors.core.graph import record, same_device
from minitorch_dist.tensors.core.operations import axis
from minitorch_dist.tensors.dtypes import type_name
from minitorch_dist.tensors.ops.accumulation import add_at
from minitorch_dist.tensors.ops.indexing.overwriting import Change, both, same_gradient, zero_at
from minitorch_dist.tensors.ops.indexing.selecting import check_range
from minitorch_dist.tensors.ops.shapes.broadcasting import broadcast_shapes, expand
from minitorch_dist.tensors.ops.shapes.reshaping import reshape

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
    if at.ndim != line.ndim:
        other = "input" if name == "gather" else "self"
        raise RuntimeError(
            f"Index tensor must have the same number of dimensions as {other} tensor"
        )
    too_large = any(
        n > m for i, (n, m) in enumerate(zip(at.shape, line.shape, strict=True)) if i != place
    )
    if source is not None:
        src = source.array if source.array.ndim else source.array.reshape(1)
        if src.ndim != at.ndim:
            raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
        if too_large or any(n > m for n, m in zip(at.shape, src.shape, strict=True)):
            raise RuntimeError(
                f"Expected index {list(at.shape)} to be no larger than self {list(x.shape)} apart "
                f"from dimension {place} and to be no larger size than src {list(src.shape)}"
            )
    elif too_large:
        raise RuntimeError(
            f"Size does not match at dimension {place} expected index {list(at.shape)} to be no "
            f"larger than self {list(x.shape)} apart from dimension {place}"
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


def take_along_dim(input: T, indices: TensorBase, dim: int | None = None) -> T:
    """`gather` whose arguments broadcast; without `dim`, both as one dimension."""
    if indices.array.dtype != np.int64:
        raise RuntimeError(
            "torch.take_along_dim(): dtype of indices should be Long but got "
            f"{type_name(indices.array)[6:-6]}"
        )
    if dim is None:
        return gather(reshape(input, -1), 0, from_end(reshape(indices, -1), input.array.size))
    x, at = input.array, indices.array
    if x.ndim != at.ndim:
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, "
            f"but got {x.ndim} dimensions for input, and {at.ndim} dimensions for indices"
        )
    place = axis(dim, x.ndim)
    rest = broadcast_shapes(*(s[:place] + (1,) + s[place + 1 :] for s in (x.shape, at.shape)))
    wide = expand(input, (*rest[:place], x.shape[place], *rest[place + 1 :]))
    all_indices = expand(indices, (*rest[:place], at.shape[place], *rest[place + 1 :]))
    return gather(wide, dim, from_end(all_indices, x.shape[place]))


def from_end(index: T, side: int) -> T:
    """Negative indices counted from the end."""
    at = index.array
    return graph.result(index, np.where(at < 0, at + side, at)) if (at < 0).any() else index


# ------------------------------------------------------------------------------------------ scatter


def _refuse(grad: Array) -> Array:
    raise RuntimeError("derivative for aten::scatter with reduce is not implemented")


def _scatter(
    input: T,
    dim: int,
    index: TensorBase,
    src: Any = None,
    *,
    value: Any = None,
    reduce: str | None = None,
) -> Change:
    """`src` (a tensor, or one number: `value`) written to the places that `index` names.

    `reduce="add"` or `"multiply"` combines with what is there; it has no gradient.
    """
    src = value if src is None else src
    if reduce not in (None, "add", "multiply"):
        raise RuntimeError("reduce argument must be either add or multiply.")
    if not isinstance(src, (TensorBase, int, float, np.number)):
        raise TypeError(
            "scatter() received an invalid combination of arguments - got (int, Tensor, "
            f"{type(src).__name__}): src must be a Tensor or a number"
        )
    tensor = src if isinstance(src, TensorBase) else None
    x = input.array
    _, _, where = places(x, dim, index, "scatter", tensor)
    values = _values(x, index, src)

    def write(array: Array) -> None:
        if not index.array.size:
            return
        target = array if array.ndim else array.reshape(1)
        if reduce is None:
            target[where] = values
        elif reduce == "add":
            add_at(target, where, np.broadcast_to(values, index.array.shape or (1,)))
        else:
            np.multiply.at(target, where, values)

    if reduce is not None:
        return Change("NotImplemented", write, _refuse, tensor, _refuse, (index,))
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
