"""From many elements to fewer: sums, means, products, counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.base import Array, T
from minitorch_dist.tensors.graph import record, result
from minitorch_dist.tensors.nodes import type_name
from minitorch_dist.tensors.ops.arithmetic import cast
from minitorch_dist.tensors.quiet import quiet

Dims: TypeAlias = "int | Sequence[int] | None"
add_up: Any = np.add.reduce


def axes(dim: Dims, ndim: int) -> tuple[int, ...]:
    """The axes `dim` names, as non-negative numbers; None and () name all of them."""
    if dim is None or dim == ():
        return tuple(range(ndim))
    given = (dim,) if isinstance(dim, int) else tuple(dim)
    found = tuple([axis(d, ndim) for d in given])
    if len(set(found)) != len(found):
        raise RuntimeError(f"dim {found[0]} appears multiple times in the list of dims")
    return found if ndim else ()


def axis(dim: int, ndim: int) -> int:
    """One axis as a non-negative number."""
    limit = max(ndim, 1)
    if not -limit <= dim < limit:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-limit}, {limit - 1}], but got {dim})"
        )
    return dim % limit


def spread(grad: Array, shape: tuple[int, ...], over: tuple[int, ...], keepdim: bool) -> Array:
    """Undo a reduction: repeat the gradient along the axes that were reduced (a read-only view)."""
    if not keepdim and shape:
        grad = np.expand_dims(grad, over)
    return np.broadcast_to(grad, shape)


def total(x: Array, over: tuple[int, ...], keepdim: bool) -> Any:
    """The sum of a floating array, computed in its own type; that of halves in float32."""
    if x.dtype in dtypes.HALVES:
        return np.asarray(quiet(add_up, x, over, np.float32, None, keepdim)).astype(x.dtype)
    return quiet(add_up, x, over, x.dtype, None, keepdim)


def sum(
    input: T, dim: Dims = None, keepdim: bool = False, *, dtype: dtypes.dtype | None = None
) -> T:
    """The sum over `dim`; integers add up in int64."""
    x = input.array
    over = axes(dim, x.ndim)
    if dtype is not None or x.dtype.kind in "iub":
        kind = dtype or dtypes.int64
        if not kind.is_floating_point:
            return result(input, add_up(x.astype(kind.numpy), over, keepdims=keepdim))
        input = cast(input, kind)
        x = input.array
    shape = x.shape
    return record(
        total(x, over, keepdim), "SumBackward0", (input, lambda g: spread(g, shape, over, keepdim))
    )


def mean(
    input: T, dim: Dims = None, keepdim: bool = False, *, dtype: dtypes.dtype | None = None
) -> T:
    """The mean over `dim`; that of nothing is nan."""
    if dtype is not None:
        input = cast(input, dtype)
    x = input.array
    if x.dtype.kind in "iub":
        given = "Input" if dtype is None else "Optional"
        raise RuntimeError(
            f"mean(): could not infer output dtype. {given} dtype must be either a floating point "
            f"or complex dtype. Got: {type_name(x)[6:-6]}. Try input.float().mean()"
        )
    over = axes(dim, x.ndim)
    shape = x.shape
    count = 1
    for i in over:
        count *= shape[i]

    def averaged(x: Array) -> Any:
        if x.dtype in dtypes.HALVES:
            return (add_up(x, over, np.float32, keepdims=keepdim) / count).astype(x.dtype)
        return add_up(x, over, keepdims=keepdim) / count

    return record(
        quiet(averaged, x),
        "MeanBackward0",
        (input, lambda g: spread(g / count, shape, over, keepdim)),
    )


# ------------------------------------------------------------------------------------------ truth


def all(input: T, dim: Dims = None, keepdim: bool = False) -> T:
    """Whether every element is not 0; of no elements, yes."""
    return _truth(np.logical_and, input, dim, keepdim)


def any(input: T, dim: Dims = None, keepdim: bool = False) -> T:
    """Whether some element is not 0; of no elements, none is."""
    return _truth(np.logical_or, input, dim, keepdim)


def _truth(ufunc: np.ufunc, input: T, dim: Dims, keepdim: bool) -> T:
    x = input.array
    over = axes(dim, x.ndim)
    out = np.asarray(ufunc.reduce(x.astype(bool, copy=False), over, keepdims=keepdim))
    return result(input, out.astype(x.dtype) if x.dtype == np.uint8 else out)


def count_nonzero(input: T, dim: Dims = None) -> T:
    """How many elements are not 0"""
    x = input.array
    return result(input, np.asarray(np.count_nonzero(x, axes(dim, x.ndim)), np.int64))
