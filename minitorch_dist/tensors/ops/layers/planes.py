"""Passes over images, channel by channel: the inner loops of batch, group and instance normalisation.

An array (N, C, S) holds one plane of S values per image and channel. Statistics are sums over planes;
normalising multiplies each plane by one number and adds another. The layers differ only in which
planes share their statistics. Each function takes one image at a time, so that it stays in the cache while
numpy passes over it. It keeps sums and constants in float64.
"""

from __future__ import annotations

import math

import numpy as np

from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.core.base import Array
from minitorch_dist.tensors.ops.elementwise.copying import row_major


def planes(x: Array) -> Array:
    """(N, C, …) as (N, C, S), wide enough to add up in; (N, C) as one image of C planes."""
    if x.dtype in dtypes.HALVES:
        x = x.astype(np.float32)
    if x.ndim == 2:
        return row_major(x.T)[None]
    return row_major(x).reshape(*x.shape[:2], math.prod(x.shape[2:]))


def restored(x: Array, shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> Array:
    """The reverse of `planes`."""
    x = x.reshape(shape) if len(shape) > 2 or x.shape[:2] == shape else row_major(x[0].T)
    return x.astype(dtype, copy=False)


def means(x: Array) -> Array:
    """The mean of each plane, nearly: good enough to centre the values around."""
    count, channels, size = x.shape
    ones = np.ones(size, x.dtype, like=x)
    sums = x.reshape(count * channels, size) @ ones  # a matrix-vector product is numpy's fastest sum
    shares: Array = sums.reshape(count, channels) / max(size, 1)
    return shares.astype(np.float64)


def moments(x: Array, centre: Array) -> tuple[Array, Array]:
    """Of each plane, the sums of x - centre and of its square.

    Around a centre near the mean nothing cancels, however far from zero the values are.
    """
    first, second = np.empty(x.shape[:2], like=x), np.empty(x.shape[:2], like=x)
    ones, centre = np.ones(x.shape[2], x.dtype, like=x), centre.astype(x.dtype)[:, :, None]
    for n, image in enumerate(x):
        d = image - centre[n]
        first[n] = d @ ones
        second[n] = np.vecdot(d, d)
    return first, second


def affine(x: Array, scale: Array, shift: Array) -> Array:
    """x * scale + shift, per plane."""
    out = np.empty_like(x)
    scale, shift = scale.astype(x.dtype)[:, :, None], shift.astype(x.dtype)[:, :, None]
    for n, image in enumerate(x):
        result = np.multiply(image, scale[n], out=out[n])
        result += shift[n]
    return out


def gradient_sums(g: Array, x: Array, centre: Array) -> tuple[Array, Array]:
    """Of each plane, the sums of g and of g * (x - centre)."""
    first, second = np.empty(x.shape[:2], like=g), np.empty(x.shape[:2], like=g)
    ones, near = np.ones(x.shape[2], x.dtype, like=x), centre.astype(x.dtype)
    for n, (grad, image) in enumerate(zip(g, x, strict=True)):
        first[n] = grad @ ones
        second[n] = np.vecdot(grad, image - near[n][:, None])
    second -= first * (centre - near)
    return first, second


def gradient(g: Array, x: Array, of_g: Array, of_x: Array, constant: Array) -> Array:
    """g * of_g + x * of_x + constant, per plane."""
    out = np.empty_like(x)
    of_x, of_g, constant = (c.astype(x.dtype)[:, :, None] for c in (of_x, of_g, constant))
    part = np.empty_like(x[0]) if len(x) else out
    for n, (grad, image) in enumerate(zip(g, x, strict=True)):
        result = np.multiply(image, of_x[n], out=out[n])
        result += np.multiply(grad, of_g[n], out=part)
        result += constant[n]
    return out
