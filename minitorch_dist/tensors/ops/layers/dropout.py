"""Dropout: forget a random part of the input, and scale the rest so that the mean stays.

Elements are kept with probability 1 - p and multiplied by 1 / (1 - p) (Srivastava et al. 2014,
https://jmlr.org/papers/v15/srivastava14a.html). The variants for images forget whole channels. Only the mask is kept for the
backward pass, a byte per element.
"""

from __future__ import annotations

import warnings

import numpy as np

from minitorch_dist.tensors import distributions
from minitorch_dist.tensors.core.base import Array, T
from minitorch_dist.tensors.core.graph import record
from minitorch_dist.tensors.core.views import check_writable, write
from minitorch_dist.tensors.core.without_warnings import silent
from minitorch_dist.tensors.generator import current
from minitorch_dist.tensors.promotion import not_implemented


def dropout(input: T, p: float = 0.5, training: bool = True, inplace: bool = False) -> T:
    """Set each element to zero with probability `p`. Outside of training: the input itself."""
    return _drop(input, p, training, inplace, input.array.ndim)


def dropout2d(input: T, p: float = 0.5, training: bool = True, inplace: bool = False) -> T:
    """Set each channel of (N, C, H, W) to zero with probability `p`.

    Three axes are read as (N, C, L); of two each element is a channel, as in `dropout`, and a warning says so.
    """
    dims = input.array.ndim
    if dims not in (3, 4):
        warnings.warn(f"dropout2d: Received a {dims}-D input to dropout2d: take dropout", stacklevel=2)
    return _drop(input, p, training, inplace, 2)


@silent
def _drop(input: T, p: float, training: bool, inplace: bool, own: int) -> T:
    """Forget elements; `own`: of how many axes each place has a chance of its own."""
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0 or input.array.size == 0:
        return input
    if inplace:
        check_writable(input)
    x = input.array
    if x.dtype.kind in "iub":
        raise not_implemented("dropout_cpu", x)
    if x.ndim < own and p < 1:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    shape = (*x.shape[:own], *[1] * (x.ndim - own))
    kept = distributions.keep(1 - p, shape, current(), x)
    scale = 1 / (1 - p) if p < 1 else 0.0

    def apply(x: Array) -> Array:
        out: Array = np.multiply(x, kept, dtype=x.dtype)
        out *= x.dtype.type(scale)
        return out

    out = record(apply(x), "MulBackward0", (input, apply, None))
    return write(input, out) if inplace else out
