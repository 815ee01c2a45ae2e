"""The common parts of operations on square matrices: checks, errors, transposes. Also trace, cross product, powers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minitorch_dist.tensors.core import dtypes
from minitorch_dist.tensors.core.base import Array, T, TensorBase
from minitorch_dist.tensors.core.dtypes import type_name
from minitorch_dist.tensors.core.graph import record, result
from minitorch_dist.tensors.core.operations import axis, sum_to
from minitorch_dist.tensors.core.promotion import broadcast_error
from minitorch_dist.tensors.masks import only
from minitorch_dist.tensors.ops import autocasting
from minitorch_dist.tensors.ops.linear_algebra.products import matmul, same_dtype
from minitorch_dist.tensors.shape_arrays.array import has_numbers


class LinAlgError(RuntimeError):
    """A matrix for which the question has no answer: singular, or not positive-definite."""


def mT(x: Array) -> Array:
    """The transposed matrix, or matrices."""
    return x.swapaxes(-1, -2)


def matrix(t: TensorBase, name: str, square: bool = True, may_be_complex: bool = False) -> Array:
    """The array of `t`, if it holds (square) matrices of float32 or float64."""
    x = t.array
    if x.ndim < 2:
        raise RuntimeError(
            f"linalg.{name}: The input tensor A must have at least 2 dimensions, got {x.ndim}."
        )
    if square and x.shape[-1] != x.shape[-2]:
        raise RuntimeError(
            f"linalg.{name}: A must be batches of square matrices, but they are "
            f"{x.shape[-2]} by {x.shape[-1]} matrices"
        )
    if t.dtype.is_complex and not may_be_complex:
        raise NotImplementedError(f"linalg.{name}: complex matrices are not offered")
    if t.dtype.category < dtypes.FLOATING:
        raise RuntimeError(
            f"linalg.{name}: Expected a floating point or complex tensor as input. "
            f"Got {type_name(x)[6:-6]}"
        )
    if x.dtype in dtypes.HALVES:
        raise RuntimeError(
            f"linalg.{name}: Low precision dtypes not supported. Got {type_name(x)[6:-6]}"
        )
    return x


def attempt(compute: Callable[[], Any], words: str) -> Any:
    """Run something of np.linalg; where it finds no answer, say so in torch's terms."""
    try:
        return compute()
    except np.linalg.LinAlgError as error:
        raise LinAlgError(words) from error


# ------------------------------------------------------------------------------------------- products


@autocasting.full
def trace(input: T) -> T:
    """The sum of the diagonal."""
    x = input.array
    if x.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {x.ndim}")
    if input.dtype.category < dtypes.FLOATING:
        return result(input, np.trace(x, dtype=np.int64))
    wide = np.float32 if x.dtype in dtypes.HALVES else x.dtype
    shape, dtype = x.shape, x.dtype
    out = np.asanyarray(np.diagonal(x).sum(dtype=wide)).astype(dtype)
    return record(out, "TraceBackward0", (input, lambda g: only(g, np.eye(*shape, dtype=bool))))


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


@autocasting.lower
def vecdot(x: T, y: T, *, dim: int = -1) -> T:
    """The sums of products along one axis."""
    same_dtype(x, y)
    a, b = x.array, y.array
    along = axis(dim, max(a.ndim, b.ndim))
    try:
        product = a * b
    except ValueError:
        raise broadcast_error(a.shape, b.shape) from None
    out = np.asanyarray(product.sum(along, dtype=a.dtype))
    xs, ys = a.shape, b.shape
    return record(
        out,
        "LinalgVecdotBackward0",
        (x, lambda g: sum_to(np.expand_dims(g, along) * b, xs), y),
        (y, lambda g: sum_to(np.expand_dims(g, along) * a, ys), x),
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


# ---------------------------------------------------------------------------------------- exponential


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
    term = np.broadcast_to(np.eye(x.shape[-1], dtype=x.dtype), x.shape)
    total = term.copy()
    for n in range(1, 18):
        term = term @ small / n
        total += term
    for _ in range(squarings):
        total = total @ total
    return total.astype(x.dtype, copy=False)
