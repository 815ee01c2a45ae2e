"""Operations that use the singular values: rank, pseudo-inverse, least squares."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch_dist.tensors import return_types
from minitorch_dist.tensors.core.base import Array, T, TensorBase
from minitorch_dist.tensors.core.graph import record, result
from minitorch_dist.tensors.core.operations import mul, sum, sum_to
from minitorch_dist.tensors.names import also_called
from minitorch_dist.tensors.ops.elementwise.arithmetic import sub
from minitorch_dist.tensors.ops.linear_algebra.matrices import matrix, mT
from minitorch_dist.tensors.ops.linear_algebra.products import matmul
from minitorch_dist.tensors.ops.shapes.reshaping import unsqueeze


def _cutoff(x: Array, s: Array, atol: Any, rtol: Any) -> Array:
    """Below which a singular value counts as zero. torch's default: eps · max(m, n) · the largest."""
    atol, rtol = (t.array[..., None] if isinstance(t, TensorBase) else t for t in (atol, rtol))
    if rtol is None:
        small = np.finfo(x.dtype).eps * max(x.shape[-2:])
        rtol = small if atol is None else np.where(np.asanyarray(atol) > 0, 0, small)
    largest = s.max(-1, keepdims=True, initial=0)
    return np.asanyarray(np.maximum(0 if atol is None else atol, rtol * largest))


def _inverses(s: Array, keep: Array) -> Array:
    """1/s as a column, and 0 for what counts as zero."""
    return np.where(keep, 1 / np.where(keep, s, 1), 0).astype(s.dtype)[..., None]


def matrix_rank(
    A: T,
    tol: Any = None,
    hermitian: bool = False,
    *,
    atol: Any = None,
    rtol: Any = None,
) -> T:
    """How many singular values count as greater than zero."""
    x = matrix(A, "matrix_rank", square=hermitian)
    if tol is not None:
        atol, rtol = tol, 0.0
    s = np.abs(np.linalg.eigvalsh(x)) if hermitian else np.linalg.svd(x, compute_uv=False)
    return result(A, np.asanyarray((s > _cutoff(x, s, atol, rtol)).sum(-1), np.int64))


@also_called(input="A")
def pinv(
    A: T, rcond: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None
) -> T:
    """The matrix P that undoes A as far as that is possible (Moore and Penrose)."""
    x = matrix(A, "pinv", square=hermitian)
    u, s, vh = np.linalg.svd(x, full_matrices=False)
    inverses = _inverses(s, s > _cutoff(x, s, atol, rtol if rcond is None else rcond))
    return known_inverse(A, mT(vh) @ (inverses * mT(u)))


def known_inverse(A: T, p: Array) -> T:
    """The pseudo-inverse of A, whose numbers are known."""
    x = A.array
    return record(
        p, "LinalgPinvBackward0", (A, lambda g: _pinv_gradient(x, p, g), A), reads_result=True
    )


def _pinv_gradient(a: Array, p: Array, g: Array) -> Array:
    """Golub and Pereyra (1973): -Pᵀ G Pᵀ + (1 - A P) Gᵀ P Pᵀ + Pᵀ P Gᵀ (1 - P A)"""
    pt, gt = mT(p), mT(g)
    total = -(pt @ g @ pt)
    total = total + (gt - a @ (p @ gt)) @ p @ pt
    return np.asanyarray(total + pt @ p @ (gt - (gt @ p) @ a))


def lstsq(A: T, B: T, rcond: float | None = None, *, driver: str | None = None) -> Any:
    """X for which A X comes closest to B: solution, residuals, rank, singular values."""
    a = matrix(A, "lstsq", square=False)
    b = B.array
    vector = b.ndim == a.ndim - 1
    wide = b[..., None] if vector else b
    if a.dtype != b.dtype:
        raise RuntimeError(
            f"torch.linalg.lstsq: Expected input and other to have the same dtype, but got "
            f"{A.dtype} and {B.dtype}"
        )
    if wide.shape[-2] != a.shape[-2]:
        raise RuntimeError(
            "torch.linalg.lstsq: input.size(-2) should match other.size(-2), got "
            f"{a.shape[-2]} and {wide.shape[-2]}"
        )
    if driver not in (None, "gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError(
            "torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)"
        )
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    keep = s > _cutoff(a, s, None, rcond)
    inverses = _inverses(s, keep)
    p = mT(vh) @ (inverses * mT(u))
    x = mT(vh) @ (inverses * (mT(u) @ wide))
    shape, wide_shape, full = b.shape, wide.shape, x.shape

    def of_a(g: Array) -> Array:
        g = g.reshape(full)
        return sum_to(_pinv_gradient(a, p, g @ mT(wide)), a.shape)

    def of_b(g: Array) -> Array:
        return sum_to(mT(p) @ g.reshape(full), wide_shape).reshape(shape)

    solution = record(
        x[..., 0] if vector else x, "LinalgLstsqBackward0", (A, of_a, A, B), (B, of_b, A)
    )
    rank = keep.sum(-1)
    residuals = result(A, np.empty(0, a.dtype, like=a))
    overdetermined = a.shape[-2] > a.shape[-1] and driver != "gelsy" and driver is not None
    if overdetermined and (rank == a.shape[-1]).all():
        fit: Any = matmul(A, unsqueeze(solution, -1) if vector else solution)
        left = sub(unsqueeze(B, -1) if vector else B, fit)
        residuals = sum(mul(left, left), -2)
    with_rank = driver != "gels"
    return return_types.linalg_lstsq(
        solution,
        residuals,
        result(A, np.asanyarray(rank if with_rank else np.empty(0, like=a)).astype(np.int64)),
        result(A, s if driver in ("gelsd", "gelss") else np.empty(0, a.dtype, like=a)),
    )
