"""Lengths and distances."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.core.base import Array, Number, T
from minitorch_dist.tensors.core.graph import record
from minitorch_dist.tensors.core.operations import Dims, add_up, axes, spread
from minitorch_dist.tensors.core.without_warnings import without_warnings
from minitorch_dist.tensors.ops.elementwise.rounding import signs
from minitorch_dist.tensors.promotion import cast


def norm(
    input: T, p: Number | str | None = "fro", dim: Dims = None, keepdim: bool = False, dtype: dtypes.dtype | None = None
) -> T:
    """The p-norm over `dim`, for p = 1, 2 or inf: Σ |x|, √(Σ x²), or the largest |x|"""
    if isinstance(p, str):
        if p != "fro":
            raise NotImplementedError(f"norm(p={p!r}) is not offered: take a number or 'fro'; PyTorch has it")
        p = 2.0
    return vector_norm(input, 2.0 if p is None else p, dim, keepdim, dtype=dtype)


def vector_norm(
    input: T, ord: Any = 2, dim: Dims = None, keepdim: bool = False, *, dtype: dtypes.dtype | None = None
) -> T:
    """The norm of the elements over `dim`, as if they were one vector"""
    x = input.array
    if x.dtype.kind in "iub":
        raise RuntimeError(f"a norm is of floating or complex numbers, not of {input.dtype}")
    if ord not in (1, 2, math.inf):
        raise NotImplementedError(f"a norm of order {ord} is not offered: take 1, 2 or inf; PyTorch has others")
    if dtype is not None:
        input = cast(input, dtype)
        x = input.array
    over = axes(dim, x.ndim)
    if ord == math.inf and not all(x.shape[i] for i in over):
        raise RuntimeError("the largest of no elements has no value")
    out = without_warnings(_norm, x, ord, over, keepdim)
    wide = out.reshape([1 if i in over else n for i, n in enumerate(x.shape)])

    def backward(g: Array) -> Any:
        return spread(g, x.shape, over, keepdim) * _slope(x, ord, wide, over)

    return record(out, "LinalgVectorNormBackward0", (input, backward, input), reads_result=True)


def _norm(x: Array, p: Number, over: tuple[int, ...], keepdim: bool) -> Array:
    wide = x.astype(np.float32) if x.dtype in dtypes.HALVES else x
    size: Any = np.abs(wide)
    if p == 2:
        size *= size
        out = np.sqrt(add_up(size, over, keepdims=keepdim))
    elif p == 1:
        out = add_up(size, over, keepdims=keepdim)
    else:
        out = size.max(over, keepdims=keepdim)
    return np.asanyarray(out).astype(x.dtype if wide is not x else size.dtype)  # type: ignore[no-any-return]


def _slope(x: Array, p: Any, out: Array, over: tuple[int, ...]) -> Any:
    """The derivative of the norm by each element; where it has a corner (at 0), torch says 0."""
    if p == 1:
        return signs(x)
    if p == 2:
        return np.where(out == 0, x.dtype.type(0), x / out)
    mask = (np.abs(x) == out) | (np.isnan(x) & np.isnan(out))
    return signs(x) * (mask / add_up(mask, over, keepdims=True)).astype(x.dtype)


def linalg_norm(
    A: T, ord: Any = None, dim: Dims = None, keepdim: bool = False, *, dtype: dtypes.dtype | None = None
) -> T:
    """The norm of a vector, or the Frobenius norm of a matrix."""
    axes_meant = A.array.ndim if dim is None else len(axes(dim, A.array.ndim))
    if ord not in (None, "fro") and axes_meant != 1:
        raise NotImplementedError(f"linalg.norm(ord={ord!r}) of matrices is not offered: PyTorch has it")
    if ord == "fro" and axes_meant != 2:
        raise RuntimeError(f"linalg.norm(ord='fro') is of matrices, and here are {axes_meant} dimensions")
    return vector_norm(A, 2 if ord in (None, "fro") else ord, dim, keepdim, dtype=dtype)
