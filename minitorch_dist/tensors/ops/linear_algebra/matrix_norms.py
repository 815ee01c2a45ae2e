"""Norms of matrices, and the functions that choose between the norm of a vector and of a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.core.base import Number, T
from minitorch_dist.tensors.core.operations import axis, mul, sum
from minitorch_dist.tensors.ops.along_axes import norms
from minitorch_dist.tensors.ops.along_axes.extrema import amax, amin
from minitorch_dist.tensors.ops.along_axes.norms import vector_norm
from minitorch_dist.tensors.ops.elementwise.division import div
from minitorch_dist.tensors.ops.elementwise.rounding import abs
from minitorch_dist.tensors.ops.linear_algebra.decompositions import svdvals
from minitorch_dist.tensors.ops.linear_algebra.matrices import matrix
from minitorch_dist.tensors.ops.linear_algebra.solving import inv
from minitorch_dist.tensors.ops.shapes import pieces
from minitorch_dist.tensors.ops.shapes.axes import movedim
from minitorch_dist.tensors.ops.shapes.reshaping import unsqueeze
from minitorch_dist.tensors.promotion import cast

_INF = float("inf")


def matrix_norm(
    A: T,
    ord: Number | str = "fro",
    dim: Sequence[int] = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: dtypes.dtype | None = None,
) -> T:
    """fro: of all elements; nuc, 2, -2: sum, largest, smallest of the singular values; 1, inf: of the
    sums of absolute values in columns, rows."""
    if A.array.ndim < 2:
        raise RuntimeError(
            "linalg.matrix_norm: The input tensor A must have at least 2 dimensions, got "
            f"{A.array.ndim}."
        )
    if len(dim) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {list(dim)}")
    rows, columns = (axis(d, A.array.ndim) for d in dim)
    if rows == columns:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got {tuple(dim)}")
    if ord not in ("fro", "nuc", 1, -1, 2, -2, _INF, -_INF):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    if dtype is not None:
        A = cast(A, dtype)
    if ord == "fro":
        return vector_norm(A, 2, (rows, columns), keepdim)
    A = movedim(A, (rows, columns), (-2, -1))
    if ord in ("nuc", 2, -2):
        values = svdvals(A)
    else:
        values = sum(abs(A), -2 if ord in (1, -1) else -1)
    if ord == "nuc":
        out = sum(values, -1)
    else:
        out = amax(values, -1) if ord in (1, 2, _INF) else amin(values, -1)
    if keepdim:
        for d in sorted((rows, columns)):
            out = unsqueeze(out, d)
    return out


def linalg_norm(
    A: T,
    ord: Number | str | None = None,
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: dtypes.dtype | None = None,
) -> T:
    """The norm of a vector or a matrix, whichever `dim` and `ord` speak of."""
    two = dim is not None and not isinstance(dim, int) and len(dim) == 2
    if ord is None:
        return vector_norm(A, 2, dim, keepdim, dtype=dtype)
    if dim is None and A.array.ndim not in (1, 2):
        raise RuntimeError(
            "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got "
            f"{A.array.ndim}D."
        )
    if two or isinstance(ord, str) or (dim is None and A.array.ndim == 2):
        return matrix_norm(A, ord, dim if dim is not None else (-2, -1), keepdim, dtype=dtype)
    return vector_norm(A, ord, dim, keepdim, dtype=dtype)


def norm(
    input: T,
    p: Number | str | None = "fro",
    dim: Any = None,
    keepdim: bool = False,
    dtype: dtypes.dtype | None = None,
) -> T:
    """`norms.norm`, and with p = "nuc" the sum of a matrix's singular values."""
    if p == "nuc":
        return matrix_norm(input, "nuc", (0, 1) if dim is None else dim, keepdim, dtype=dtype)
    return norms.norm(input, p, dim, keepdim, dtype)


def cond(A: T, p: Number | str | None = None) -> T:
    """How much an error in b can grow in the solution of A x = b: ‖A‖ · ‖A⁻¹‖"""
    if p in (None, 2, -2):
        values = svdvals(A)
        large, small = amax(values, -1), amin(values, -1)
        return div(small, large) if p == -2 else div(large, small)
    matrix(A, "cond")
    assert p is not None
    return mul(matrix_norm(A, p), matrix_norm(inv(A), p))


def diagonal(A: T, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> T:
    """The diagonals of matrices: `Tensor.diagonal` with the last two axes as default."""
    return pieces.diagonal(A, offset, dim1, dim2)
