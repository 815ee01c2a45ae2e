"""Other shapes for the same elements in the same order: views where the strides allow it."""

from __future__ import annotations

import math
import operator
from typing import Any

from numpy.lib.stride_tricks import as_strided

from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.core.base import Array, T, TensorBase
from minitorch_dist.tensors.core.graph import record
from minitorch_dist.tensors.core.operations import Dims, axes, axis
from minitorch_dist.tensors.core.views import view_of
from minitorch_dist.tensors.ops.elementwise.copying import contiguous

Shape = tuple[int, ...]


def sizes(given: tuple[Any, ...], name: str, keyword: Any = None) -> Shape:
    """The ints of `f(2, 3)`, of `f((2, 3))`, or of `f(size=(2, 3))`."""
    if keyword is not None:
        given = tuple(keyword)
    elif len(given) == 1 and isinstance(given[0], (tuple, list)):
        given = tuple(given[0])
    elif not given:
        raise TypeError(f"{name}() received an invalid combination of arguments - got ()")
    try:
        return tuple([operator.index(n) for n in given])
    except TypeError:
        kinds = ", ".join(type(n).__name__ for n in given)
        raise TypeError(f"{name}() takes ints, or a tuple of ints, but got {kinds}") from None


def infer(shape: Shape, count: int) -> Shape:
    """`shape` with its -1 replaced so that it has `count` elements."""
    known = math.prod(n for n in shape if n != -1)
    unknown = shape.count(-1)
    if unknown > 1 or min(shape, default=0) < -1:
        raise RuntimeError(f"only one dimension can be inferred, but got the shape {list(shape)}")
    if (known != count) if not unknown else (known == 0 or count % known):
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {count}")
    return tuple([count // known if n == -1 else n for n in shape]) if unknown else shape


def window(x: Array, target: Shape) -> Array | None:
    """The same memory as `target`, or None where its strides do not allow it."""
    try:
        return x.reshape(target, copy=False)
    except ValueError:
        return None


def quick(x: Array, shape: tuple[Any, ...]) -> Array | None:
    """The ordinary case at once: a contiguous array and a shape that fits. Else None."""
    if len(shape) == 1 and isinstance(shape[0], tuple):
        shape = shape[0]
    try:
        if x.flags.c_contiguous and shape and min(shape) >= -1:
            return x.reshape(shape)
    except (ValueError, TypeError):
        pass  # the long way finds out what is wrong with it
    return None


def view(input: T, *shape: Any, size: Any = None, dtype: dtypes.dtype | None = None) -> T:
    """The same memory in another shape (or read as another dtype).

    Args:
        input: The tensor itself.
        *shape: The new shape, in which one -1 is computed; or a dtype.
        size: The new shape, by name.
        dtype: The new dtype, by name.

    Returns:
        A tensor that shares the memory.

    Raises:
        RuntimeError: The shape does not fit, or would need a copy.

    Example:
        >>> torch.arange(6).view(2, -1).tolist()
        [[0, 1, 2], [3, 4, 5]]
    """
    if dtype is not None or (len(shape) == 1 and isinstance(shape[0], dtypes.dtype)):
        return _reinterpret(input, dtype or shape[0])
    x = input.array
    out = quick(x, shape)
    if out is None:
        out = window(x, infer(sizes(shape, "view", size), x.size))
    if out is None:
        raise RuntimeError(
            f"view() of {list(x.shape)} with strides {x.strides} would need a copy: use reshape() instead"
        )
    before = x.shape
    return view_of(input, out, "ViewBackward0", lambda g: g.reshape(before))


def _reinterpret(input: T, dtype: dtypes.dtype) -> T:
    """The same bytes read as another dtype: the last dimension grows or shrinks."""
    x = input.array
    grows = x.itemsize < dtype.itemsize
    if x.itemsize != dtype.itemsize and (
        not x.ndim or x.strides[-1] != x.itemsize or (grows and x.shape[-1] * x.itemsize % dtype.itemsize)
    ):
        raise RuntimeError(
            f"{input.dtype}{list(x.shape)} cannot be viewed as {dtype}: the last dimension does not divide"
        )
    out = view_of(input, x.view(dtype.numpy), "ViewBackward0", lambda g: g)
    out._grad_fn, out._requires_grad, out._base = None, False, None  # bits have no gradient
    return out


def reshape(input: T, *sides: Any, shape: Any = None) -> T:
    """A view where possible, else a copy, in another shape."""
    x = input.array
    out, before = quick(x, sides), x.shape
    if out is None:
        target = infer(sizes(sides, "reshape", shape), x.size)
        out = window(x, target)
        if out is None:
            copied = x.reshape(target)
            return record(copied, "UnsafeViewBackward0", (input, lambda g: g.reshape(before)))
    return view_of(input, out, "ViewBackward0", lambda g: g.reshape(before))


def view_as(input: T, other: TensorBase) -> T:
    """`view(other.shape)`"""
    return view(input, other.shape if other.is_part else other.array.shape)  # type: ignore[attr-defined]


def reshape_as(input: T, other: TensorBase) -> T:
    """`reshape(other.shape)`"""
    return reshape(input, other.shape if other.is_part else other.array.shape)  # type: ignore[attr-defined]


def flatten(input: T, start_dim: int = 0, end_dim: int = -1) -> T:
    """The dimensions from `start_dim` to `end_dim` as one."""
    old = input.array.shape
    first, last = axis(start_dim, len(old)), axis(end_dim, len(old))
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not old:
        return reshape(input, 1)
    if first == last:
        return input
    side = math.prod(old[first : last + 1])
    return reshape(input, (*old[:first], side, *old[last + 1 :]))


def ravel(input: T) -> T:
    """One dimension; a view if the tensor is contiguous."""
    return view(contiguous(input), input.array.size)


def unflatten(input: T, dim: int, sizes: Any) -> T:
    """One dimension as several."""
    old = input.array.shape
    place, parts = axis(dim, len(old)), tuple(sizes)
    if not old or not parts:
        raise RuntimeError(f"unflatten(): {list(parts)} is no shape for a dimension of {list(old)}")
    parts = infer(parts, old[place])
    return view(input, old[:place] + parts + old[place + 1 :])


def squeeze(input: T, dim: Dims = None, *more: int) -> T:
    """Without the dimensions of length 1; with `dim`, only those named."""
    if more:
        dim = (dim, *more)  # type: ignore[arg-type]
    x = input.array
    before = x.shape
    if dim is None:
        name, drop = "SqueezeBackward0", tuple([i for i, n in enumerate(before) if n == 1])
    elif isinstance(dim, int):
        place = axis(dim, x.ndim)
        name, drop = "SqueezeBackward1", (place,) if x.ndim and before[place] == 1 else ()
    else:
        named = axes(tuple(dim), x.ndim) if len(dim) else ()
        name, drop = "SqueezeBackward2", tuple([i for i in named if x.ndim and before[i] == 1])
    return view_of(input, x.squeeze(drop), name, lambda g: g.reshape(before))


def unsqueeze(input: T, dim: int) -> T:
    """With a new dimension of length 1 at `dim`."""
    x = input.array
    place = axis(dim, x.ndim + 1)
    before = x.shape
    longer = before[:place] + (1,) + before[place:]
    if x.flags.c_contiguous:
        out = x.reshape(longer)
    else:  # the new stride continues the pattern, as in torch (numpy would say 0)
        step = x.strides[place] * before[place] if place < x.ndim else x.itemsize
        out = as_strided(x, longer, x.strides[:place] + (step,) + x.strides[place:], subok=True)
    return view_of(input, out, "UnsqueezeBackward0", lambda g: g.reshape(before))
