"""Eigenvalues and eigenvectors of any square matrix, which are complex; equations of tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from minitorch_dist.tensors import dtypes, return_types
from minitorch_dist.tensors.autograd.joint import record_several
from minitorch_dist.tensors.core.base import Array, T
from minitorch_dist.tensors.core.graph import Gradient
from minitorch_dist.tensors.ops.linear_algebra.matrices import attempt, matrix, mT
from minitorch_dist.tensors.ops.linear_algebra.solving import inv, solve
from minitorch_dist.tensors.shape_arrays.array import has_numbers


def eig(A: T) -> Any:
    """Eigenvalues, and eigenvectors of length 1 in columns. Both are complex, also of a real matrix."""
    x = matrix(A, "eig", may_be_complex=True)
    kind = dtypes.to_complex(A.dtype).numpy
    found = attempt(lambda: np.linalg.eig(x), "linalg.eig: The algorithm failed to converge.")
    values, vectors = (part.astype(kind) for part in found)

    def backward(g_values: Gradient, g_vectors: Gradient) -> list[Array]:
        """V⁻ᴴ (diag(Gλ) + (Vᴴ Gv - Vᴴ V Re diag(Vᴴ Gv)) / E) Vᴴ with Eᵢⱼ the conjugate of λⱼ - λᵢ."""
        adjoint, one = mT(vectors).conj(), np.eye(vectors.shape[-1], like=vectors)
        inner = np.zeros_like(vectors)
        if g_vectors is not None:
            inner = adjoint @ g_vectors
            along = np.diagonal(inner, 0, -2, -1)
            if has_numbers(along) and not np.allclose(along.imag, 0, 1e-2, 1e-2):
                raise RuntimeError(
                    "linalg_eig_backward: The eigenvectors in the complex case are specified up to "
                    "multiplication by e^{i phi}. The specified loss function depends on this quantity, so "
                    "it is ill-defined."
                )
            inner = inner - adjoint @ (vectors * along.real[..., None, :])
            gap = (values[..., None, :] - values[..., :, None]).conj() + one
            inner = inner / gap * (1 - one)
        if g_values is not None:
            inner = inner + g_values[..., None] * one
        grad = np.linalg.solve(adjoint, inner @ adjoint)
        return [(grad if x.dtype.kind == "c" else grad.real).astype(x.dtype)]

    # It declares no reads: the formula is torch's, and needs no conjugates on the way in and out.
    parts = record_several((values, vectors), "LinalgEigBackward0", [A], backward)
    return return_types.linalg_eig(*parts)


def eigvals(A: T) -> T:
    """The eigenvalues, which are complex."""
    values: T = eig(A).eigenvalues
    return values


def tensorsolve(A: T, B: T, dims: Sequence[int] | None = None) -> Any:
    """X with tensordot(A, X, X.ndim) = B; `dims` of A are moved to its end first."""
    a: Any = A
    if dims is not None:
        a = a.movedim(tuple(dims), tuple(range(a.ndim - len(dims), a.ndim)))
    count, shape = B.array.size, a.shape[B.array.ndim :]
    if math.prod(shape) != count or a.numel() != count * count:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
            f"prod(self.shape[:other.ndim]), but got {math.prod(shape)} != {count}"
        )
    flat: Any = B
    return solve(a.reshape(count, count), flat.reshape(-1)).reshape(shape)


def tensorinv(A: T, ind: int = 2) -> Any:
    """The inverse of the map tensordot(A, ·, A.ndim - ind)."""
    a: Any = A
    if ind <= 0:
        raise RuntimeError("Expected a strictly positive integer for 'ind'")
    first, last = tuple(a.shape[:ind]), tuple(a.shape[ind:])
    if math.prod(first) != math.prod(last):
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), "
            f"but got {math.prod(last)} != {math.prod(first)}"
        )
    found: Any = inv(a.reshape(math.prod(first), -1))
    return found.reshape(last + first)
