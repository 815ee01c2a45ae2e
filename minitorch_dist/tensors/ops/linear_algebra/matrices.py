"""The common parts of operations on square matrices: checks, errors, transposes. Also trace, cross product, powers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.core.base import Array, T, TensorBase
from minitorch_dist.tensors.core.graph import record, result
from minitorch_dist.tensors.core.operations import axis, sum_to
from minitorch_dist.tensors.dtypes import type_name
from minitorch_dist.tensors.masks import only
from minitorch_dist.tensors.ops import autocasting
from minitorch_dist.tensors.ops.linear_algebra.products import same_dtype
from minitorch_dist.tensors.promotion import broadcast_error


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
    return record(
        out, "TraceBackward0", (input, lambda g: only(g, np.eye(*shape, dtype=bool, like=g)))
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
