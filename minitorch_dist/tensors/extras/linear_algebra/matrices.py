"""The common parts of operations on square matrices: checks, errors, transposes. Also trace, cross product, powers: those that are rarely used."""

from __future__ import annotations

import numpy as np

from minitorch_dist.tensors.core.base import Array, T
from minitorch_dist.tensors.core.graph import record
from minitorch_dist.tensors.core.operations import axis, sum_to
from minitorch_dist.tensors.ops.linear_algebra.matrices import matrix, mT
from minitorch_dist.tensors.ops.linear_algebra.products import matmul, same_dtype
from minitorch_dist.tensors.promotion import broadcast_error
from minitorch_dist.tensors.shape_arrays.array import has_numbers


def cross(input: T, other: T, dim: int | None = None) -> T:
    """The vector product along an axis of length 3 (default: the first such axis)."""
    if dim is None:
        shape = input.array.shape
        if 3 not in shape:
            raise RuntimeError(f"no dimension of size 3 in input, whose shape is {list(shape)}")
        dim = shape.index(3)
    return linalg_cross(input, other, dim=dim)


def linalg_cross(input: T, other: T, *, dim: int = -1) -> T:
    """The vector product along one axis (default: the last)."""
    x, y = input.array, other.array
    if x.ndim != y.ndim:
        raise RuntimeError(
            f"linalg.cross: inputs must have the same number of dimensions, got {x.ndim} and {y.ndim}."
        )
    same_dtype(input, other)
    along = axis(dim, x.ndim)
    if x.shape[along] != 3 or y.shape[along] != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {x.shape[along]} and "
            f"{y.shape[along]}"
        )

    def times(a: Array, b: Array) -> Array:
        a0, a1, a2 = np.moveaxis(a, along, 0)
        b0, b1, b2 = np.moveaxis(b, along, 0)
        return np.stack([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0], along)

    try:
        out = times(x, y)
    except ValueError:
        raise broadcast_error(x.shape, y.shape) from None
    xs, ys = x.shape, y.shape
    return record(
        out,
        "LinalgCrossBackward0",
        (input, lambda g: sum_to(times(y, g), xs), other),
        (other, lambda g: sum_to(times(g, x), ys), input),
    )


def positive_power(self: T, n: int) -> T:
    """self multiplied with itself, n > 0 factors: squarings, and a product for each 1 in binary n."""
    total: T | None = None
    while True:
        if n & 1:
            total = self if total is None else matmul(total, self)
        n >>= 1
        if not n:
            assert total is not None
            return total
        self = matmul(self, self)


def matrix_exp(input: T) -> T:
    """1 + A + A²/2! + A³/3! + …

    The gradient of A ↦ eᴬ needs no formula of its own: the upper right block of the exponential of
    [[Aᵀ, G], [0, Aᵀ]] is the gradient for G.
    """
    x = matrix(input, "matrix_exp")

    def gradient(g: Array) -> Array:
        n = x.shape[-1]
        block = np.zeros((*x.shape[:-2], 2 * n, 2 * n), x.dtype, like=x)
        block[..., :n, :n] = block[..., n:, n:] = mT(x)
        block[..., :n, n:] = g
        return _exp(block)[..., :n, n:]

    return record(_exp(x), "LinalgMatrixExpBackward0", (input, gradient, input))


def _exp(x: Array) -> Array:
    """Scaling and squaring: eᴬ = (e^(A/2ˢ))^(2ˢ). The norm of A/2ˢ is at most 1/2, so the series has
    17 terms after the first: the next would add less than 1e-21."""
    if not has_numbers(x):
        return np.empty_like(x)
    norm = np.abs(x).sum(-2).max(initial=0.0)
    squarings = max(0, int(np.ceil(np.log2(max(float(norm), 1e-300)))) + 1)
    small = x / 2.0**squarings
    term = np.broadcast_to(np.eye(x.shape[-1], dtype=x.dtype, like=x), x.shape)
    total = term.copy()
    for n in range(1, 18):
        term = term @ small / n
        total += term
    for _ in range(squarings):
        total = total @ total
    return total.astype(x.dtype, copy=False)
