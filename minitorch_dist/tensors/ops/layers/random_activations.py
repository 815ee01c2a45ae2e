"""Nonlinearities that draw: a leaky rectifier with random slopes, and random choices with gradients."""

from __future__ import annotations

import warnings

import numpy as np

from minitorch_dist.tensors import distributions
from minitorch_dist.tensors.core.base import T
from minitorch_dist.tensors.core.graph import record
from minitorch_dist.tensors.core.operations import axis
from minitorch_dist.tensors.ops.layers.softmaxes import softmax
from minitorch_dist.tensors.ops.making.random import check_floating, source


def gumbel_softmax(
    logits: T, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> T:
    """A random choice along `dim` with probabilities softmax(logits), as a point on the simplex.

    The smaller `tau`, the nearer a corner. With `hard` the result is that corner itself, while its
    gradient is the soft one's (arXiv:1611.01144).
    """
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=2)
    x = logits.array
    check_floating(x.dtype, "exponential_")
    double = np.dtype(np.float64)
    unit = distributions.draw(
        x.shape, double, source(None, logits.device), distributions.unit(double), x
    )
    noise = -np.log(-np.log1p(-unit) + np.finfo(double).tiny)
    warmed = ((x + noise) / tau).astype(x.dtype)
    soft = softmax(record(warmed, "DivBackward0", (logits, lambda g: g / tau)), dim)
    if not hard:
        return soft
    corner = np.zeros_like(soft.array)
    along = axis(dim, x.ndim)
    np.put_along_axis(corner, soft.array.argmax(along, keepdims=True), 1, along)
    return record(corner, "AddBackward0", (soft, lambda g: g))
