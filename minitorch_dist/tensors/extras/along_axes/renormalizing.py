"""Slices that are too long are shortened."""

from __future__ import annotations

from typing import Any

from minitorch_dist.tensors.core.operations import axis
from minitorch_dist.tensors.core.views import inplace
from minitorch_dist.tensors.ops.along_axes.norms import vector_norm
from minitorch_dist.tensors.ops.elementwise.comparison import where


def renorm(input: Any, p: float, dim: int, maxnorm: float) -> Any:
    """`input`, with each slice along `dim` whose p-norm exceeds `maxnorm` scaled down to that."""
    x = input.array
    if x.ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {x.ndim} dimensions")
    if p <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    others = [d for d in range(x.ndim) if d != axis(dim, x.ndim)]
    norm: Any = vector_norm(input, p, others, keepdim=True)
    is_long = norm > maxnorm
    return input * where(is_long, maxnorm / (where(is_long, norm, 1.0) + 1e-7), 1.0)


renorm_ = inplace(renorm)
