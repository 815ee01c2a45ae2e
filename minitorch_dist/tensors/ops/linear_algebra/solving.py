"""Linear equations, inverses and determinants."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch_dist.tensors import return_types
from minitorch_dist.tensors.autograd.joint import record_several
from minitorch_dist.tensors.core.base import Array, T, TensorBase
from minitorch_dist.tensors.core.graph import record
from minitorch_dist.tensors.core.operations import sum_to
from minitorch_dist.tensors.dtypes import type_name
from minitorch_dist.tensors.names import also_called
from minitorch_dist.tensors.ops import autocasting
from minitorch_dist.tensors.ops.elementwise.copying import row_major
from minitorch_dist.tensors.ops.linear_algebra.matrices import attempt, matrix, mT
from minitorch_dist.tensors.shape_arrays.array import has_numbers

# ----------------------------------------------------------------------------------------- inverse


@also_called(input="A")
@autocasting.full
def inv(A: T) -> T:
    """The matrix that undoes A."""
    x = matrix(A, "inv", may_be_complex=True)
    out = attempt(
        lambda: np.linalg.inv(x),
        "linalg.inv: A diagonal element is zero, the inversion could not be completed because the "
        "input matrix is singular.",
    )
    return record(
        out, "LinalgInvExBackward0", (A, lambda g: -(mT(out) @ g @ mT(out))), reads_result=True
    )


# ------------------------------------------------------------------------------------- determinant


@also_called(input="A")
def det(A: T) -> T:
    """The determinant."""
    x = matrix(A, "det")
    out = np.asanyarray(np.linalg.det(x)).astype(x.dtype)
    return record(out, "LinalgDetBackward0", (A, lambda g: g[..., None, None] * _cofactors(x), A))


def _cofactors(x: Array) -> Array:
    """The gradient of the determinant, also where the matrix is singular and has no inverse.

    With A = U S Vᵀ it is det(U) det(V) U S' Vᵀ, where S' holds the products of all *other* singular
    values.
    """
    u, s, vh = np.linalg.svd(x)
    n = s.shape[-1]
    others = np.where(np.eye(n, dtype=bool, like=s), 1, s[..., None, :]).prod(-1)
    sign = np.linalg.det(u) * np.linalg.det(vh)
    return np.asanyarray((u * (others * sign[..., None])[..., None, :]) @ vh).astype(x.dtype)  # type: ignore[no-any-return]


def linalg_slogdet(A: T) -> Any:
    """The sign of the determinant, and the logarithm of its absolute value."""
    return return_types.linalg_slogdet(*_slogdet(A))


def slogdet(input: T) -> Any:
    """The sign of the determinant, and the logarithm of its absolute value."""
    return return_types.slogdet(*_slogdet(input))


def _slogdet(A: T) -> tuple[T, T]:
    x = matrix(A, "slogdet")
    sign, log = (np.asanyarray(part).astype(x.dtype) for part in np.linalg.slogdet(x))
    zero = np.zeros_like(x)

    def backward(_: Array | None, g: Array | None) -> list[Array]:
        if g is None:
            return [zero]
        inverse = attempt(lambda: np.linalg.inv(x), "linalg.slogdet: the input matrix is singular.")
        return [g[..., None, None] * mT(inverse)]

    signs, logs = record_several((sign, log), "LinalgSlogdetBackward0", [A], backward, reads=[A])
    return signs, logs


# --------------------------------------------------------------------------------------- equations


def _check_pair(A: TensorBase, B: TensorBase, name: str) -> None:
    if A.array.dtype != B.array.dtype:
        a, b = (type_name(t.array)[6:-6] for t in (A, B))
        raise RuntimeError(
            f"linalg.{name}: Expected A and B to have the same dtype, but found A of type {a} and "
            f"B of type {b} instead"
        )


def _check_fit(a: Array, b: Array, left: bool, name: str) -> None:
    n = b.shape[-2] if left else b.shape[-1]
    if n != a.shape[-1]:
        shape = f"{a.shape[-2]}x{a.shape[-1]} and {b.shape[-2]}x{b.shape[-1]}"
        equation = "AX = B" if left else "XA = B"
        raise RuntimeError(
            f"linalg.{name}: Incompatible shapes of A and B for the equation {equation} ({shape})"
        )


@autocasting.full
def solve(A: T, B: T, *, left: bool = True) -> T:
    """X with A X = B (or X A = B); B may be a vector, or a batch of vectors."""
    a = matrix(A, "solve", may_be_complex=True)
    _check_pair(A, B, "solve")
    b = B.array
    vector = b.ndim == 1 or (b.ndim == a.ndim - 1 and b.shape == a.shape[:-1])
    if vector:
        b = b[..., None]
    _check_fit(a, b, left, "solve")

    def solved(m: Array, right: Array) -> Array:
        return attempt(  # type: ignore[no-any-return]
            lambda: np.linalg.solve(m, right),
            "torch.linalg.solve: The solver failed because the input matrix is singular.",
        )

    x = solved(a, b) if left else row_major(mT(solved(mT(a), mT(b))))
    squeezed = x.squeeze(-1) if vector else x
    shape, wide, full = B.array.shape, b.shape, x.shape

    def of_b(g: Array) -> Array:
        g = g.reshape(full)
        return solved(mT(a), g) if left else mT(solved(a, mT(g)))

    def of_a(g: Array) -> Array:
        h = of_b(g)
        return sum_to(-(h @ mT(x)) if left else -(mT(x) @ h), a.shape)

    return record(
        squeezed,
        "LinalgSolveExBackward0",
        (A, of_a, A),
        (B, lambda g: sum_to(of_b(g), wide).reshape(shape), A),
        reads_result=True,
    )


@autocasting.full
def solve_triangular(
    A: T, B: T, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> T:
    """X with A X = B (or X A = B), reading only one triangle of A."""
    a = matrix(A, "solve_triangular")
    b = matrix(B, "solve_triangular", square=False)
    _check_pair(A, B, "solve_triangular")
    _check_fit(a, b, left, "solve_triangular")

    def triangle(m: Array) -> Array:
        if unitriangular:
            return np.triu(m, 1) if upper else np.tril(m, -1)
        return np.triu(m) if upper else np.tril(m)

    def read() -> Array:
        part = triangle(a)
        one = np.eye(a.shape[-1], dtype=a.dtype, like=a)
        return part + one if unitriangular else part

    part = read()
    x = _substituted(part, b, upper) if left else mT(_substituted(mT(part), mT(b), not upper))
    x, shape = row_major(x), b.shape

    def of_b(g: Array) -> Array:
        if left:
            return _substituted(mT(read()), g, not upper)
        return mT(_substituted(read(), mT(g), upper))

    def of_a(g: Array) -> Array:
        h = of_b(g)
        return sum_to(triangle(-(h @ mT(x)) if left else -(mT(x) @ h)), a.shape)

    return record(
        x,
        "LinalgSolveTriangularBackward0",
        (A, of_a, A),
        (B, lambda g: sum_to(of_b(g), shape), A),
        reads_result=True,
    )


def _substituted(a: Array, b: Array, upper: bool) -> Array:
    """One unknown after the other, beginning with the row that holds only one."""
    n = a.shape[-1]
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    x = np.broadcast_to(b, (*batch, *b.shape[-2:])).copy()
    if not has_numbers(x):
        return x
    with np.errstate(divide="ignore", invalid="ignore"):
        for i in range(n)[:: -1 if upper else 1]:
            known = slice(i + 1, n) if upper else slice(0, i)
            x[..., i, :] -= (a[..., i : i + 1, known] @ x[..., known, :])[..., 0, :]
            x[..., i, :] /= a[..., i, i, None]
    return x
