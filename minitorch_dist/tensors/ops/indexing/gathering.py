"""Single elements by indices of the tensor's own shape: gather, scatter and their kin.

    gather    out[i][j] = input[i][index[i][j]]        along dim 1
    scatter   out[i][index[i][j]] = src[i][j]

Along the other dimensions an index may be shorter than the tensor; the rest is left alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minitorch_dist.tensors.autograd.overwriting import Change, both, same_gradient, zero_at
from minitorch_dist.tensors.core.base import Array, T, TensorBase
from minitorch_dist.tensors.core.graph import record, same_device
from minitorch_dist.tensors.core.operations import axis
from minitorch_dist.tensors.ops.accumulation import add_at, zeros_around
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


def places(x: Array, dim: int, index: TensorBase, name: str, source: TensorBase | None = None) -> Where:
    """The places of `x` that `index` names along `dim`, which a source must have a value for."""
    at, along = index.array, axis(dim, x.ndim)
    if at.dtype.kind != "i" or at.itemsize < 4:
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index")
    bound = [*x.shape[:along], np.inf, *x.shape[along + 1 :]]
    fits = x.ndim == at.ndim > 0 and all(n <= m for n, m in zip(at.shape, bound, strict=True))
    if source is not None:
        own = source.array.shape
        fits = fits and len(own) == at.ndim and all(n <= m for n, m in zip(at.shape, own, strict=True))
    if not fits:
        others = "" if source is None else f" and src {list(source.array.shape)}"
        raise RuntimeError(f"{name}(): index {list(at.shape)} is larger than self {list(x.shape)}{others}")
    check_range(at, x.shape[along], along)
    return grid(at, along)


def gather(input: T, dim: int, index: TensorBase, *, sparse_grad: bool = False) -> T:
    """The elements that `index` names along `dim`; the result has its shape."""
    same_device(input, index)
    x = input.array
    where = places(x, dim, index, "gather")
    twice = index.array.shape[dim] != 1  # else no place can be named twice
    return record(x[where], "GatherBackward0", (input, zeros_around(x, where, twice), index))


# ------------------------------------------------------------------------------------------ scatter


def _scatter(input: T, dim: int, index: TensorBase, src: Any = None, *, value: Any = None) -> Change:
    """`src` (a tensor, or one number: `value`) written to the places that `index` names."""
    src = value if src is None else src
    if not isinstance(src, (TensorBase, int, float, np.number)):
        raise TypeError(f"scatter(): src must be a Tensor or a number, not {type(src).__name__}")
    tensor = src if isinstance(src, TensorBase) else None
    where = places(input.array, dim, index, "scatter", tensor)
    values = _values(input.array, index, src)

    def write(array: Array) -> None:
        array[where] = values

    if tensor is None:
        return Change("ScatterBackward1", write, zero_at(where), reads=(index,))
    return Change("ScatterBackward0", write, zero_at(where), tensor, _collect(where, index, tensor), (index,))


def _values(x: Array, index: TensorBase, src: Any) -> Array:
    """The values to write: the part of `src` that `index` covers."""
    if not isinstance(src, TensorBase):
        with np.errstate(all="ignore"):
            return np.asanyarray(src).astype(x.dtype)  # type: ignore[no-any-return]
    if src.array.dtype != x.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    return src.array[tuple(map(slice, index.array.shape))]


def _collect(where: Where, index: TensorBase, source: TensorBase) -> Callable[[Array], Array]:
    """The gradient of what was written."""
    widen = zeros_around(source.array, tuple(map(slice, index.array.shape)))
    return lambda grad: widen(grad[where])


scatter, scatter_ = both(_scatter)


def _scatter_add(input: T, dim: int, index: TensorBase, src: TensorBase) -> Change:
    """`src` added to the places that `index` names, as often as it names them."""
    where = places(input.array, dim, index, "scatter_add", src)
    values = _values(input.array, index, src)
    return Change(
        "ScatterAddBackward0",
        lambda x: add_at(x, where, values),
        same_gradient,
        src,
        _collect(where, index, src),
        (index,),
    )


scatter_add, scatter_add_ = both(_scatter_add)
