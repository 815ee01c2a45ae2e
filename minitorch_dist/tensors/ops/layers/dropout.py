"""Dropout: forget a random part of the input, and scale the rest so that the mean stays.

Elements are kept with probability 1 - p and multiplied by 1 / (1 - p) (Srivastava et al. 2014,
https://jmlr.org/papers/v15/srivastava14a.html). The variants for images forget whole channels; the *alpha* variants
put SELU's lower limit where something was forgotten, and keep the mean and the variance
(Klambauer et al. 2017, arXiv:1706.02515). Only the mask is kept for the backward pass, a byte per element.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from minitorch_dist.tensors import distributions
from minitorch_dist.tensors.core.base import Array, T, TensorBase
from minitorch_dist.tensors.core.graph import record
from minitorch_dist.tensors.core.views import check_writable, write
from minitorch_dist.tensors.core.without_warnings import silent
from minitorch_dist.tensors.dtypes import type_name
from minitorch_dist.tensors.generator import current
from minitorch_dist.tensors.names import also_called

LOWEST = -1.7580993408473766  # SELU of minus infinity


@also_called(train="training")
def dropout(input: T, p: float = 0.5, training: bool = True, inplace: bool = False) -> T:
    """Set each element to zero with probability `p`. Outside of training: the input itself."""
    return _drop(input, p, training, inplace, None)


def dropout1d(input: T, p: float = 0.5, training: bool = True, inplace: bool = False) -> T:
    """Set each channel of (N, C, L) or (C, L) to zero with probability `p`."""
    dims = input.array.ndim
    _check_probability(p)
    if dims not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {dims}D input. Note that dropout1d "
            "exists to provide channel-wise dropout on inputs with 1 spatial dimension, a channel "
            "dimension, and an optional batch dimension (i.e. 2D or 3D inputs)."
        )
    return _drop(input, p, training, inplace, 2 if dims == 3 else 1)


def dropout2d(input: T, p: float = 0.5, training: bool = True, inplace: bool = False) -> T:
    """Set each channel of (N, C, H, W) to zero with probability `p`.

    Three axes are read as (N, C, L); of two each element is a channel, as in `dropout`. Both warn.
    """
    dims = input.array.ndim
    _check_probability(p)
    if dims not in (3, 4):
        _warn(2, dims, "dropout")
    if dims == 3:
        warnings.warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout "
            "behavior is desired - input is interpreted as shape (N, C, L), where C is the channel "
            "dim. This behavior will change in a future release to interpret the input as one "
            "without a batch dimension, i.e. shape (C, H, W). To maintain the 1D channel-wise "
            "dropout behavior, please switch to using dropout1d instead.",
            stacklevel=2,
        )
    return _drop(input, p, training, inplace, 2)


def dropout3d(input: T, p: float = 0.5, training: bool = True, inplace: bool = False) -> T:
    """Set each channel of (N, C, D, H, W) or (C, D, H, W) to zero with probability `p`."""
    dims = input.array.ndim
    _check_probability(p)
    if dims not in (4, 5):
        _warn(3, dims, "dropout")
    return _drop(input, p, training, inplace, 2 if dims == 5 else 1)


@also_called(train="training")
def alpha_dropout(input: T, p: float = 0.5, training: bool = False, inplace: bool = False) -> T:
    """Dropout that keeps mean 0 and variance 1, for networks of SELUs."""
    return _alpha_drop(input, p, training, inplace, None)


@also_called(train="training")
def feature_alpha_dropout(
    input: T, p: float = 0.5, training: bool = False, inplace: bool = False
) -> T:
    """`alpha_dropout` of whole channels of (N, C, …)."""
    return _alpha_drop(input, p, training, inplace, 2)


# ----------------------------------------------------------------------------------------------------


def _check_probability(p: float) -> None:
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def _warn(spatial: int, dims: int, instead: str) -> None:
    name = f"dropout{spatial}d"
    warnings.warn(
        f"{name}: Received a {dims}-D input to {name}, which is deprecated and will result in an "
        f"error in a future release. To retain the behavior and silence this warning, please use "
        f"{instead} instead. Note that {name} exists to provide channel-wise dropout on inputs with "
        f"{spatial} spatial dimensions, a channel dimension, and an optional batch dimension "
        f"(i.e. {spatial + 1}D or {spatial + 2}D inputs).",
        stacklevel=3,
    )


def _mask(input: TensorBase, p: float, own: int | None) -> Array:
    """A mask of the elements to keep: each by itself, or (`own` leading axes) whole channels."""
    x = input.array
    if x.dtype.kind in "iub":
        raise RuntimeError(
            f"result type Float can't be cast to the desired output type {type_name(x)[6:-6]}"
        )
    shape = x.shape
    if own is not None:
        if len(shape) < 2 and own == 2 and p < 1:
            raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
        shape = (*shape[:own], *[1] * (len(shape) - own))
    return distributions.keep(1 - p, shape, current(), x)


@silent
def _drop(input: T, p: float, training: bool, inplace: bool, own: int | None) -> T:
    _check_probability(p)
    if not training or p == 0 or input.array.size == 0:
        return input
    if inplace:
        check_writable(input)
    kept = _mask(input, p, own)
    scale = 1 / (1 - p) if p < 1 else 0.0

    def apply(x: Array) -> Array:
        out: Array = np.multiply(x, kept, dtype=x.dtype)
        out *= x.dtype.type(scale)
        return out

    out = record(apply(input.array), "MulBackward0", (input, apply, None))
    return write(input, out) if inplace else out


@silent
def _alpha_drop(input: T, p: float, training: bool, inplace: bool, own: int | None) -> T:
    _check_probability(p)
    if not training or p == 0 or input.array.size == 0:
        return input
    if inplace:
        check_writable(input)
    dtype: Any = input.array.dtype.type
    kept = _mask(input, p, own)
    if p == 1:
        scale, shift = kept * dtype(0), kept * dtype(0)
    else:
        a = 1 / np.sqrt((LOWEST * LOWEST * p + 1) * (1 - p))
        scale = kept * dtype(a)
        shift = ~kept * dtype(a * LOWEST) - dtype(a * p * LOWEST)
    out = record(input.array * scale + shift, "AddBackward0", (input, lambda g: g * scale, None))
    return write(input, out) if inplace else out
