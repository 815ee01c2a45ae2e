"""Matrices as products of simpler ones: Cholesky, QR, eigenvectors, singular values.

LAPACK (through numpy) computes them; their gradients are the formulas of the literature, which stand
beside each: M. Giles, "An extended collection of matrix derivative results" (2008), and J. Townsend,
"Differentiating the singular value decomposition" (2016). A formula with (λⱼ - λᵢ) in a denominator is
unstable where eigenvalues are close to each other; that is in the nature of the thing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch_dist.tensors import return_types
from minitorch_dist.tensors.autograd.joint import record_several
from minitorch_dist.tensors.core.base import Array, T
from minitorch_dist.tensors.core.graph import Gradient, record, result
from minitorch_dist.tensors.ops import autocasting
from minitorch_dist.tensors.ops.elementwise.copying import row_major
from minitorch_dist.tensors.ops.linear_algebra.matrices import attempt, matrix, mT


def _diagonal_of(x: Array) -> Array:
    """A copy with zeros beside the diagonal."""
    return x * np.eye(x.shape[-1], dtype=x.dtype, like=x)


@autocasting.full
def cholesky(input: T, upper: bool = False) -> T:
    """The lower triangular L with L Lᵀ = A (or the upper one, its transpose)."""
    x = matrix(input, "cholesky")
    low = attempt(
        lambda: np.linalg.cholesky(mT(x) if upper else x),
        "linalg.cholesky: The factorization could not be completed because the input is not "
        "positive-definite.",
    )
    out = row_major(mT(low)) if upper else low

    def gradient(g: Array) -> Array:
        """L⁻ᵀ Φ(Lᵀ G) L⁻¹, made symmetric; Φ takes the lower triangle and half of the diagonal."""
        low = mT(out) if upper else out
        phi = np.tril(mT(low) @ (mT(g) if upper else g))
        phi -= _diagonal_of(phi) / 2
        inverse = np.linalg.inv(low)
        half = mT(inverse) @ phi @ inverse
        return np.asanyarray((half + mT(half)) / 2)

    return record(out, "LinalgCholeskyExBackward0", (input, gradient), reads_result=True)


# ------------------------------------------------------------------------------------------------ QR


@autocasting.full
def qr(A: T, mode: str = "reduced") -> Any:
    """Q with orthonormal columns and the upper triangular R, Q R = A."""
    return return_types.linalg_qr(*_qr(A, mode))


def torch_qr(input: T, some: bool = True) -> Any:
    """The older form of `linalg.qr`."""
    return return_types.qr(*_qr(input, "reduced" if some else "complete"))


def _qr(A: T, mode: str) -> tuple[T, T]:
    x = matrix(A, "qr", square=False)
    if mode not in ("reduced", "r", "complete"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', "
            "or 'complete'"
        )
    rows, columns = x.shape[-2:]
    q: Array
    q, r = np.linalg.qr(x, "complete" if mode == "complete" else "reduced")
    full = q
    if mode == "r":
        q = np.empty(0, x.dtype, like=x)

    def backward(gq: Gradient, gr: Gradient) -> list[Array]:
        if mode == "r":
            raise RuntimeError(
                "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. "
                "Please use linalg.qr(A, mode='reduced') if you are going to require gradients."
            )
        if mode == "complete" and rows > columns:
            raise RuntimeError(
                "The QR decomposition is not differentiable when mode='complete' and nrows > ncols."
            )
        gq = np.zeros_like(full) if gq is None else gq
        gr = np.zeros_like(r) if gr is None else gr
        if rows >= columns:
            return [_tall(full, r, gq, gr)]
        # A = [X | Y] with X square: X = Q U, Y = Q V, R = [U | V].
        y, v_grad = x[..., rows:], gr[..., rows:]
        left = _tall(full, r[..., :rows], gq + y @ mT(v_grad), gr[..., :rows])
        return [np.concatenate([left, full @ v_grad], -1)]

    parts = record_several((q, r), "LinalgQrBackward0", [A], backward, reads=[A], reads_result=True)
    return parts[0], parts[1]


def _tall(q: Array, r: Array, gq: Array, gr: Array) -> Array:
    """(Gq + Q copy(M)) R⁻ᵀ with M = R Grᵀ - Gqᵀ Q; `copy` mirrors the lower triangle upwards."""
    m = r @ mT(gr) - mT(gq) @ q
    low = np.tril(m, -1)
    mirrored = low + mT(low) + _diagonal_of(m)
    return mT(np.linalg.solve(r, mT(gq + q @ mirrored)))


# ------------------------------------------------------------------------------------- eigenvectors


@autocasting.full
def eigh(A: T, UPLO: str = "L") -> Any:
    """Eigenvalues in ascending order, and eigenvectors, of a symmetric matrix (one triangle is read)."""
    x = matrix(A, "eigh")
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    values, vectors = np.linalg.eigh(x, "U" if UPLO.upper() == "U" else "L")

    def backward(g_values: Gradient, g_vectors: Gradient) -> list[Array]:
        """V (diag(Gλ) + Vᵀ Gv / E) Vᵀ with Eᵢⱼ = λⱼ - λᵢ, made symmetric as A is."""
        one = np.eye(vectors.shape[-1], dtype=vectors.dtype, like=vectors)
        inner = np.zeros_like(vectors)
        if g_vectors is not None:
            gap = values[..., None, :] - values[..., :, None] + one
            inner = mT(vectors) @ g_vectors / gap
            inner -= _diagonal_of(inner)
        if g_values is not None:
            inner = inner + g_values[..., None] * one
        return [vectors @ ((inner + mT(inner)) / 2) @ mT(vectors)]

    parts = record_several(
        (values, vectors), "LinalgEighBackward0", [A], backward, reads_result=True
    )
    return return_types.linalg_eigh(*parts)


@autocasting.full
def eigvalsh(A: T, UPLO: str = "L") -> T:
    """Eigenvalues of a symmetric matrix, in ascending order."""
    values: T = eigh(A, UPLO).eigenvalues
    return values


# ---------------------------------------------------------------------------------- singular values


@autocasting.full
def svd(A: T, full_matrices: bool = True) -> Any:
    """U, S, Vᵀ with U diag(S) Vᵀ = A; singular values in descending order."""
    return return_types.linalg_svd(*_svd(A, full_matrices))


def torch_svd(input: T, some: bool = True, compute_uv: bool = True) -> Any:
    """The older form: V instead of its transpose."""
    u, s, vh = _svd(input, not some)
    if not compute_uv:
        rows, columns = input.array.shape[-2:]
        batch, dtype = input.array.shape[:-2], input.array.dtype
        empty = [result(input, np.zeros((*batch, n, n), dtype)) for n in (rows, columns)]
        return return_types.svd(empty[0], s, empty[1])
    v: Any = vh
    return return_types.svd(u, s, v.transpose(-1, -2))


@autocasting.full
def svdvals(A: T) -> T:
    """The singular values, in descending order."""
    return _svd(A, False)[1]


def _svd(A: T, full_matrices: bool) -> tuple[T, T, T]:
    x = matrix(A, "svd", square=False)
    u, s, vh = attempt(
        lambda: np.linalg.svd(x, full_matrices=full_matrices),
        "linalg.svd: The algorithm failed to converge.",
    )
    k = s.shape[-1]

    def backward(gu: Gradient, gs: Gradient, gvh: Gradient) -> list[Array]:
        thin = None if gu is None else gu[..., :, :k], None if gvh is None else gvh[..., :k, :]
        return [_svd_gradient(u[..., :, :k], s, vh[..., :k, :], thin[0], gs, thin[1])]

    parts = record_several((u, s, vh), "LinalgSvdBackward0", [A], backward, reads_result=True)
    return parts[0], parts[1], parts[2]


def _svd_gradient(
    u: Array, s: Array, vh: Array, gu: Gradient, gs: Gradient, gvh: Gradient
) -> Array:
    """U [(skew(Uᵀ Gu)/E) S + S (skew(Vᵀ Gv)/E) + diag(Gs)] Vᵀ, with Eᵢⱼ = sⱼ² - sᵢ²,

    and, where A is not square, what lies outside of the spaces of U and V.
    """
    eye = np.eye(s.shape[-1], dtype=s.dtype, like=s)
    row, column = s[..., None, :], s[..., :, None]
    gap = (row - column) * (row + column) + eye
    inner = np.zeros_like(eye) if gs is None else gs[..., None] * eye
    if gu is not None:
        w = mT(u) @ gu
        inner = inner + (w - mT(w)) / gap * row
    if gvh is not None:
        w = vh @ mT(gvh)
        inner = inner + column * ((w - mT(w)) / gap)
    total = u @ inner @ vh
    if gu is not None and u.shape[-2] > u.shape[-1]:
        total = total + ((gu - u @ (mT(u) @ gu)) / row) @ vh
    if gvh is not None and vh.shape[-1] > vh.shape[-2]:
        total = total + (u / row) @ (gvh - (gvh @ mT(vh)) @ vh)
    return np.asanyarray(total)
