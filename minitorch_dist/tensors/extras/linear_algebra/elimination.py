"""Gaussian elimination with exchanged rows, A = P L U, and what follows from it; results that tell instead of raising.

`lu_factor` keeps L below the diagonal and U on it and above. `pivots[i]` is the row with which row i was exchanged, counted
from 1. The functions that end in `_ex` return `info`: 0, or the first place at which a matrix has no answer.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minitorch_dist.tensors import return_types
from minitorch_dist.tensors.autograd.joint import record_several
from minitorch_dist.tensors.core.base import Array, T
from minitorch_dist.tensors.core.graph import Gradient, result
from minitorch_dist.tensors.extras.shapes.rearranging import tril, triu
from minitorch_dist.tensors.ops.elementwise.comparison import where
from minitorch_dist.tensors.ops.linear_algebra.decompositions import cholesky
from minitorch_dist.tensors.ops.linear_algebra.matrices import LinAlgError, matrix, mT
from minitorch_dist.tensors.ops.linear_algebra.products import matmul
from minitorch_dist.tensors.ops.linear_algebra.solving import inv, solve, solve_triangular
from minitorch_dist.tensors.shape_arrays.array import has_numbers


def _eliminated(x: Array) -> tuple[Array, Array, Array]:
    """L and U in one array, the exchanged rows, and the first pivot that is zero (from 1; 0: none)."""
    *batch, m, n = x.shape
    if not has_numbers(x):
        none = np.zeros((*batch, min(m, n)), np.int32, like=x)
        return x.copy(), none, np.zeros(batch, np.int32, like=x)
    a = x.reshape(math.prod(batch), m, n).copy()
    each, k = np.arange(len(a)), min(m, n)
    pivots, info = np.zeros((len(a), k), np.int32), np.zeros(len(a), np.int32)
    for i in range(k):
        row = i + np.abs(a[:, i:, i]).argmax(1)
        a[each, i], a[each, row] = a[each, row], a[each, i]
        pivots[:, i] = row + 1
        pivot = a[:, i, i]
        info[(info == 0) & (pivot == 0)] = i + 1
        a[:, i + 1 :, i] /= np.where(pivot == 0, 1, pivot)[:, None]
        a[:, i + 1 :, i + 1 :] -= a[:, i + 1 :, i, None] * a[:, i, None, i + 1 :]
    return a.reshape(x.shape), pivots.reshape(*batch, k), info.reshape(batch)


def _exchange(pivots: Array, m: int, kind: Any) -> Array:
    """The matrix P of exchanged rows."""
    if pivots.dtype != np.int32:
        raise RuntimeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype."
        )
    if not has_numbers(pivots):
        return np.zeros((*pivots.shape[:-1], m, m), kind, like=pivots)
    rows = pivots.reshape(math.prod(pivots.shape[:-1]), pivots.shape[-1]) - 1
    order, each = np.tile(np.arange(m), (len(rows), 1)), np.arange(len(rows))
    for i in range(rows.shape[1]):
        row = rows[:, i]
        order[each, i], order[each, row] = order[each, row], order[each, i]
    out = np.zeros((len(rows), m, m), kind)
    out[each[:, None], order, np.arange(m)] = 1
    return out.reshape(*pivots.shape[:-1], m, m)


def _lu(A: T, name: str, pivot: bool) -> tuple[Any, Any, Array, Array]:
    """L, U, the pivots and the info."""
    x = matrix(A, name, square=False)
    if not pivot:
        raise RuntimeError(f"linalg.{name}: LU without pivoting is not implemented on the CPU")
    compact, pivots, info = _eliminated(x)
    m, n = x.shape[-2:]
    k = min(m, n)
    low = np.tril(compact[..., :k], -1) + np.eye(m, k, dtype=x.dtype, like=x)
    high = np.triu(compact[..., :k, :])

    def backward(g_low: Gradient, g_high: Gradient) -> list[Array]:
        """P L⁻ᵀ (lower(Lᵀ Gl) + upper(Gu Uᵀ)) U⁻ᵀ of the square part. Rows below it give Gl U₁⁻ᵀ, columns beside it L₁⁻ᵀ Gu."""
        gl = np.zeros_like(low) if g_low is None else g_low
        gu = np.zeros_like(high) if g_high is None else g_high
        l1, u1, gl1, gu1 = low[..., :k, :], high[..., :k], gl[..., :k, :], gu[..., :k]
        below = mT(np.linalg.solve(u1, mT(gl[..., k:, :])))
        beside = np.linalg.solve(mT(l1), gu[..., k:])
        gl1 = gl1 - beside @ mT(high[..., k:])
        gu1 = gu1 - mT(low[..., k:, :]) @ below
        inner = np.tril(mT(l1) @ gl1, -1) + np.triu(gu1 @ mT(u1))
        square = np.linalg.solve(mT(l1), mT(np.linalg.solve(u1, mT(inner))))
        whole = np.concatenate([np.concatenate([square, beside], -1), below], -2) if m > n else (
            np.concatenate([square, beside], -1))  # fmt: skip
        return [_exchange(pivots, m, x.dtype) @ whole]

    parts = record_several((low, high), "LinalgLuBackward0", [A], backward)
    return parts[0], parts[1], pivots, info


def _compact(low: Any, high: Any) -> Any:
    """L without its diagonal, and U, in one tensor."""
    m, k = low.shape[-2:]
    x, n = low.array, high.shape[-1]
    tall = np.eye(m, k, dtype=x.dtype, like=x)
    wide = np.eye(k, n, dtype=x.dtype, like=x)
    return tril(low, -1) @ result(low, wide) + result(low, tall) @ high


def linalg_lu(A: T, *, pivot: bool = True) -> Any:
    """P, L and U with P L U = A."""
    low, high, pivots, _ = _lu(A, "lu", pivot)
    exchange = result(A, _exchange(pivots, A.array.shape[-2], A.array.dtype))
    return return_types.linalg_lu(exchange, low, high)


def lu_factor(A: T, *, pivot: bool = True) -> Any:
    """L and U in one tensor, and the exchanged rows. LinAlgError if a pivot is zero, as in torch."""
    return return_types.linalg_lu_factor(*lu_factor_ex(A, pivot=pivot, check_errors=True)[:2])


def lu_factor_ex(A: T, *, pivot: bool = True, check_errors: bool = False) -> Any:
    """As `lu_factor`, with an info instead of an error."""
    low, high, pivots, info = _lu(A, "lu_factor", pivot)
    if check_errors:
        _check(info, "lu_factor", "U[{0},{0}] is zero and using it on lu_solve would result in a division by zero. If you still want to perform the factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)")  # fmt: skip
    return return_types.linalg_lu_factor_ex(_compact(low, high), result(A, pivots), result(A, info))


def lu(A: T, pivot: bool = True, get_infos: bool = False) -> Any:
    """The older form of `lu_factor_ex`."""
    found = lu_factor_ex(A, pivot=pivot)
    return tuple(found) if get_infos else tuple(found[:2])


def lu_unpack(
    LU_data: T, LU_pivots: T, unpack_data: bool = True, unpack_pivots: bool = True
) -> Any:
    """P, L and U of what `lu_factor` found."""
    data: Any = LU_data
    m, n = data.shape[-2:]
    k = min(m, n)
    none = result(data, np.empty(0, data.array.dtype, like=data.array))
    exchange = low = high = none
    if unpack_data:
        one = result(data, np.eye(m, k, dtype=data.array.dtype, like=data.array))
        low, high = tril(data[..., :k], -1) + one, triu(data[..., :k, :])
    if unpack_pivots:
        exchange = result(data, _exchange(LU_pivots.array, m, data.array.dtype))
    return return_types.lu_unpack(exchange, low, high)


def linalg_lu_solve(LU: T, pivots: T, B: T, *, left: bool = True, adjoint: bool = False) -> T:
    """X with A X = B (or X A = B; or Aᵀ instead of A), given A's `lu_factor`."""
    P, L, U = lu_unpack(LU, pivots)
    b: Any = B if left else B.transpose(-1, -2)  # type: ignore[attr-defined]
    if adjoint == left:
        half = solve_triangular(U.transpose(-1, -2), b, upper=False)
        x: Any = matmul(P, solve_triangular(L.transpose(-1, -2), half, upper=True, unitriangular=True))  # fmt: skip
    else:
        half = solve_triangular(L, matmul(P.transpose(-1, -2), b), upper=False, unitriangular=True)
        x = solve_triangular(U, half, upper=True)
    found: T = x if left else x.transpose(-1, -2)
    return found


def lu_solve(input: T, LU_data: T, LU_pivots: T) -> T:
    """X with A X = input, given A's `lu_factor`."""
    return linalg_lu_solve(LU_data, LU_pivots, input)


# ------------------------------------------------------------------------------------ info, and no error


def _check(info: Array, name: str, words: str) -> None:
    if has_numbers(info) and info.any():
        where_ = tuple(int(i) for i in np.argwhere(info)[0])
        batch = f"(Batch element {where_[0]}): " if where_ else ""
        raise LinAlgError(f"torch.linalg.{name}: {batch}{words.format(int(info[where_]))}")


def _answerable(A: T, info: Array) -> T:
    """A, with the identity in place of matrices that have no answer."""
    if not (has_numbers(info) and info.any()):
        return A
    one = result(A, np.eye(A.array.shape[-1], dtype=A.array.dtype))
    found: T = where(result(A, np.asanyarray(info == 0)[..., None, None]), A, one)
    return found


def _minor(x: Array) -> int:
    """The first leading part of a matrix that is not positive definite; 0 if all are."""
    for k in range(1, len(x) + 1):
        try:
            np.linalg.cholesky(x[:k, :k])
        except np.linalg.LinAlgError:
            return k
    return 0


def cholesky_ex(A: T, *, upper: bool = False, check_errors: bool = False) -> Any:
    """`cholesky`, and an info instead of an error: the order of the first leading minor that is not positive."""
    x = matrix(A, "cholesky_ex")
    try:
        np.linalg.cholesky(mT(x) if upper else x)
        info = np.zeros(x.shape[:-2], np.int32, like=x)
    except np.linalg.LinAlgError:
        each = (mT(x) if upper else x).reshape(-1, *x.shape[-2:])
        info = np.array([_minor(m) for m in each], np.int32).reshape(x.shape[:-2])
    if check_errors:
        _check(info, "cholesky_ex", "The factorization could not be completed because the input is not positive-definite (the leading minor of order {} is not positive-definite).")  # fmt: skip
    return return_types.linalg_cholesky_ex(cholesky(_answerable(A, info), upper), result(A, info))


def inv_ex(A: T, *, check_errors: bool = False) -> Any:
    """`inv`, and an info instead of an error."""
    info = _eliminated(matrix(A, "inv_ex"))[2]
    if check_errors:
        _check(info, "inv_ex", "The diagonal element {} is zero, the inversion could not be completed because the input matrix is singular.")  # fmt: skip
    return return_types.linalg_inv_ex(inv(_answerable(A, info)), result(A, info))


def solve_ex(A: T, B: T, *, left: bool = True, check_errors: bool = False) -> Any:
    """`solve`, and an info instead of an error."""
    info = _eliminated(matrix(A, "solve_ex"))[2]
    if check_errors:
        _check(info, "solve_ex", "The solver failed because the input matrix is singular.")
    found = solve(_answerable(A, info), B, left=left)
    return return_types.linalg_solve_ex(found, result(A, info))
