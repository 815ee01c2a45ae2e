"""The largest and smallest elements, and where they stand."""

from __future__ import annotations

from typing import Any, overload

import numpy as np

from minitorch_dist.tensors import return_types
from minitorch_dist.tensors.core.base import Array, T, TensorBase
from minitorch_dist.tensors.core.graph import record, result
from minitorch_dist.tensors.core.operations import Dims, axes, axis, is_empty, numpy_names, spread
from minitorch_dist.tensors.masks import only
from minitorch_dist.tensors.ops.elementwise import extremes
from minitorch_dist.tensors.promotion import demand_order


@overload
def max(input: T) -> T: ...
@overload
def max(input: T, dim: T, keepdim: bool = False) -> T: ...
@overload
def max(input: T, dim: None = None, keepdim: bool = False, *, other: T) -> T: ...
@overload
def max(input: T, dim: int, keepdim: bool = False) -> return_types.max[T]: ...
@numpy_names
def max(input: T, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
    """The largest element; with `dim` also its index; with another tensor, element by element."""
    if other is not None or isinstance(dim, TensorBase):
        return extremes.maximum(input, dim if other is None else other)
    if dim is None:
        return _one(np.maximum, input, "max")
    return return_types.max(*_along(np.argmax, input, dim, keepdim, "max"))


@overload
def min(input: T) -> T: ...
@overload
def min(input: T, dim: T, keepdim: bool = False) -> T: ...
@overload
def min(input: T, dim: None = None, keepdim: bool = False, *, other: T) -> T: ...
@overload
def min(input: T, dim: int, keepdim: bool = False) -> return_types.min[T]: ...
@numpy_names
def min(input: T, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
    """The smallest element; with `dim` also its index; with another tensor, element by element."""
    if other is not None or isinstance(dim, TensorBase):
        return extremes.minimum(input, dim if other is None else other)
    if dim is None:
        return _one(np.minimum, input, "min")
    return return_types.min(*_along(np.argmin, input, dim, keepdim, "min"))


def _one(ufunc: np.ufunc, input: T, name: str) -> T:
    """Over all elements; those that are equally extreme share the gradient."""
    x = input.array
    demand_order(f"{name}_all", x)
    _check_not_empty(x, None, name, RuntimeError)
    out = ufunc.reduce(x, None)
    return record(out, f"{name.title()}Backward1", (input, lambda g: among_equals(g, x, out), input), reads_result=True)


def among_equals(g: Array, x: Array, out: Any) -> Any:
    """The gradient of one element of all, in equal parts to those that have that value."""
    mask = np.isnan(x) if np.isnan(out) else x == out
    return only(np.asanyarray(g / mask.sum()).astype(g.dtype, copy=False), mask)


def _shared(g: Array, x: Array, out: Array, over: tuple[int, ...], keepdim: bool) -> Any:
    """The same along some axes; a nan is not equal to itself, and has a nan for a gradient."""
    mask = x == spread(np.asanyarray(out), x.shape, over, keepdim)
    part = mask / mask.sum(over, dtype=np.int64, keepdims=True)
    return spread(g, x.shape, over, keepdim) * part.astype(g.dtype)


def _along(find: Any, input: T, dim: int, keepdim: bool, name: str) -> tuple[T, T]:
    x = input.array
    demand_order(f"{name}_cpu", x)
    along = axis(dim, x.ndim)
    _check_not_empty(x, (along,), name, IndexError)
    index = find(x if x.ndim else x[None], axis=along, keepdims=True)
    return taken(input, index, along, keepdim, f"{name.title()}Backward0")


def taken(input: T, index: Array, along: int, keepdim: bool, name: str) -> tuple[T, T]:
    """The elements at `index` (one or more along the axis), and where they are. A 0-dim tensor is a vector meanwhile."""
    before, x = input.array.shape, input.array if input.array.ndim else input.array[None]
    wide, index = x.shape, index.astype(np.int64, copy=False)
    shape = (*index.shape[:along], *index.shape[along if keepdim else along + 1 :]) if before else ()
    where = result(input, index.reshape(shape))

    def backward(g: Array) -> Array:
        whole = np.zeros(wide, g.dtype, like=g)
        np.put_along_axis(whole, index, g.reshape(index.shape), along)
        return whole.reshape(before)

    return record(np.take_along_axis(x, index, along).reshape(shape), name, (input, backward, where)), where


def _check_not_empty(x: Array, over: tuple[int, ...] | None, name: str, error: type[Exception]) -> None:
    if x.size:
        return
    if over is None:
        raise error(f"{name}() of no elements: name dimensions that have some with 'dim'")
    if x.ndim and 0 in [x.shape[i] for i in over or ()]:
        raise IndexError(f"{name}() along dimensions {over} of {list(x.shape)}, which have no elements")


@numpy_names
def amax(input: T, dim: Dims = (), keepdim: bool = False) -> T:
    """The largest elements over `dim`; equal ones share the gradient"""
    return _over(np.maximum, input, dim, keepdim, "amax")


@numpy_names
def amin(input: T, dim: Dims = (), keepdim: bool = False) -> T:
    """The smallest elements over `dim`; equal ones share the gradient"""
    return _over(np.minimum, input, dim, keepdim, "amin")


def _over(ufunc: np.ufunc, input: T, dim: Dims, keepdim: bool, name: str) -> T:
    x = input.array
    demand_order(f"{name}_cpu", x)
    over = axes(dim, x.ndim)
    _check_not_empty(x, None if dim is None or is_empty(dim) else over, name, RuntimeError)
    out = np.asanyarray(ufunc.reduce(x, over, keepdims=keepdim))
    return record(
        out, f"{name.title()}Backward0", (input, lambda g: _shared(g, x, out, over, keepdim), input), reads_result=True
    )


@numpy_names
def argmax(input: T, dim: int | None = None, keepdim: bool = False) -> T:
    """Where the largest element stands: in the flattened tensor, or along `dim`"""
    return _where(np.argmax, input, dim, keepdim, "argmax")


@numpy_names
def argmin(input: T, dim: int | None = None, keepdim: bool = False) -> T:
    """Where the smallest element stands: in the flattened tensor, or along `dim`"""
    return _where(np.argmin, input, dim, keepdim, "argmin")


def _where(find: Any, input: T, dim: int | None, keepdim: bool, name: str) -> T:
    x = input.array
    if x.dtype.kind in "bc":
        raise RuntimeError(f"{name}(): does not support {input.dtype}")
    along = None if dim is None else axis(dim, x.ndim)
    _check_not_empty(x, None if along is None else (along,), name, IndexError)
    out = find(x, axis=along if x.ndim else None, keepdims=keepdim)
    return result(input, np.asanyarray(out).astype(np.int64, copy=False))
