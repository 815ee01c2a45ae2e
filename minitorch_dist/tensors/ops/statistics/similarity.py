"""How alike vectors are, and vectors of length one."""

from __future__ import annotations

import numpy as np

from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.core.base import T
from minitorch_dist.tensors.core.graph import record
from minitorch_dist.tensors.core.operations import Dims, mul, sum
from minitorch_dist.tensors.ops.along_axes.norms import norm, vector_norm
from minitorch_dist.tensors.ops.elementwise.division import div
from minitorch_dist.tensors.ops.elementwise.extremes import clamp_min
from minitorch_dist.tensors.promotion import promote


def normalize(input: T, p: float = 2.0, dim: Dims = 1, eps: float = 1e-12) -> T:
    """`input` divided by its p-norm along `dim` (by eps, where that is less)."""
    return div(input, clamp_min(norm(input, p, dim, keepdim=True), eps))


def cosine_similarity(x1: T, x2: T, dim: int = 1, eps: float = 1e-8) -> T:
    """x1 · x2 / (|x1| |x2|) along `dim`: 1 where they point the same way, -1 where opposite."""
    x1, x2 = promote(x1, x2)
    if x1.dtype.category != dtypes.FLOATING:
        raise RuntimeError(f"cosine_similarity() is of floating numbers, not of {x1.dtype}")
    return sum(mul(_directed(x1, dim, eps), _directed(x2, dim, eps)), dim)


def _directed(x: T, dim: int, eps: float) -> T:
    """x / |x|. A length below eps counts as eps, but has the gradient of a length."""
    length = vector_norm(x, 2, dim, keepdim=True)
    at_least = np.maximum(length.array, length.array.dtype.type(eps))
    return div(x, record(at_least, "CloneBackward0", (length, lambda g: g)))
