"""From many elements to fewer: sums, means, extremes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.base import Array, T
from minitorch_dist.tensors.graph import record, result

Dims: TypeAlias = "int | Sequence[int] | None"


def axes(dim: Dims, ndim: int) -> tuple[int, ...]:
    """The axes `dim` names, as non-negative numbers; None and () name all of them."""
    if dim is None or dim == ():
        return tuple(range(ndim))
    given = (dim,) if isinstance(dim, int) else tuple(dim)
    found = tuple(axis(d, ndim) for d in given)
    if len(set(found)) != len(found):
        raise RuntimeError(f"dim {found[0]} appears multiple times in the list of dims")
    return found


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


def sum(
    self: T, dim: Dims = None, keepdim: bool = False, *, dtype: dtypes.dtype | None = None
) -> T:
    """The sum over `dim`; integers add up in int64."""
    x = self.array
    over = axes(dim, x.ndim)
    kind = dtype or (self.dtype if self.dtype.is_floating_point else dtypes.int64)
    if x.dtype in dtypes.HALVES:  # add up in float32, round once
        out = np.asarray(x.sum(over, dtype=np.float32, keepdims=keepdim)).astype(kind.numpy)
    else:
        out = (
            x.sum(over or None, dtype=kind.numpy, keepdims=keepdim)
            if x.ndim
            else x.astype(kind.numpy)
        )
    if not kind.is_floating_point:
        return result(self, out)
    shape, source = x.shape, x.dtype
    return record(
        out,
        "SumBackward0",
        (self, lambda g: spread(g, shape, over, keepdim).astype(source, copy=False)),
    )
