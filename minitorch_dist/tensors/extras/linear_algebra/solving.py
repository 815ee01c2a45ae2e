"""Linear equations, inverses and determinants: those that are rarely used."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch_dist.tensors import return_types
from minitorch_dist.tensors.core.base import Array, T
from minitorch_dist.tensors.core.graph import record, result
from minitorch_dist.tensors.extras.linear_algebra.matrices import positive_power
from minitorch_dist.tensors.extras.shapes.rearranging import tril, triu
from minitorch_dist.tensors.names import also_called
from minitorch_dist.tensors.ops import autocasting
from minitorch_dist.tensors.ops.linear_algebra.matrices import attempt, matrix, mT
from minitorch_dist.tensors.ops.linear_algebra.products import matmul
from minitorch_dist.tensors.ops.linear_algebra.solving import inv, solve_triangular


@autocasting.lower
def matrix_power(input: T, n: int) -> T:
    """A · A · … · A, n factors; for negative n of the inverse; for 0 the identity."""
    x = input.array
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        matrix(input, "matrix_power")
    if n == 0:
        one = np.broadcast_to(np.eye(x.shape[-1], dtype=x.dtype, like=x), x.shape).copy()
        return record(one, "MatrixPowerBackward0", (input, np.zeros_like))
    return positive_power(input, n) if n > 0 else positive_power(inv(input), -n)


def logdet(input: T) -> T:
    """The logarithm of the determinant: -inf if it is zero, NaN if it is negative."""
    x = matrix(input, "logdet")
    sign, log = np.linalg.slogdet(x)
    out = np.where(sign < 0, np.nan, log).astype(x.dtype)

    def gradient(g: Array) -> Array:
        inverse = attempt(lambda: np.linalg.inv(x), "linalg.logdet: the input matrix is singular.")
        return g[..., None, None] * mT(inverse)

    return record(out, "LogdetBackward0", (input, gradient, input))


def triangular_solve(
    input: T, A: T, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:
    """The older form of `solve_triangular`."""
    a: Any = A
    if transpose:
        a, upper = a.transpose(-1, -2), not upper
    solution = solve_triangular(a, input, upper=upper, unitriangular=unitriangular)
    return return_types.triangular_solve(solution, result(A, A.array.copy()))


@also_called(input="B", input2="L")
def cholesky_solve(B: T, L: T, upper: bool = False) -> T:
    """X with A X = B, given the Cholesky factor of A."""
    factor: Any = triu(L) if upper else tril(L)
    other = factor.transpose(-1, -2)
    low, high = (other, factor) if upper else (factor, other)
    halfway = solve_triangular(low, B, upper=False)
    solution: T = solve_triangular(high, halfway, upper=True)
    return solution


@also_called(input="L")
def cholesky_inverse(L: T, upper: bool = False) -> T:
    """The inverse of A, given the Cholesky factor of A."""
    factor: Any = triu(L) if upper else tril(L)
    other = factor.transpose(-1, -2)
    whole: T = matmul(other, factor) if upper else matmul(factor, other)
    return inv(whole)
