"""Normalisation of each sample by itself: layer norm and RMS norm, over the last axes.

    layer norm   x̂ = (x - mean) / √(var + ε)      Ba, Kiros & Hinton 2016, arXiv:1607.06450
    RMS norm     x̂ = x / √(mean(x²) + ε)          Zhang & Sennrich 2019, arXiv:1910.07467
    out = x̂ · weight + bias

The input is a matrix with one sample per row. Its statistics are kept, x̂ is computed again in the
backward pass; with h = g · weight,

    dx = (h - mean(h) - x̂ · mean(h · x̂)) / √(var + ε)           (RMS norm: without mean(h))
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.autograd.joint import record_joint, wants
from minitorch_dist.tensors.core.base import Array, T
from minitorch_dist.tensors.core.graph import Gradient
from minitorch_dist.tensors.core.without_warnings import silent
from minitorch_dist.tensors.limits import finfo
from minitorch_dist.tensors.ops.elementwise.copying import row_major
from minitorch_dist.tensors.ops.layers.normalization import check_parameters
from minitorch_dist.tensors.shape_arrays.array import has_numbers


def layer_norm(
    input: T, normalized_shape: Sequence[int], weight: T | None = None, bias: T | None = None, eps: float = 1e-5
) -> T:
    """Normalise over the last axes, whose sizes `normalized_shape` repeats."""
    _check(input, normalized_shape, weight, bias)
    return _by_rows(input, normalized_shape, weight, bias, eps, True, "NativeLayerNormBackward0")


def rms_norm(input: T, normalized_shape: Sequence[int], weight: T | None = None, eps: float | None = None) -> T:
    """Divide by the root of the mean square over the last axes; eps=None is the type's own epsilon."""
    _check(input, normalized_shape, weight, None)
    if eps is None:  # the epsilon of the type that adds up
        eps = finfo(dtypes.float32 if input.array.dtype in dtypes.HALVES else input.dtype).eps
    return _by_rows(input, normalized_shape, weight, None, eps, False, "FusedRmsNormBackward0")


def _check(input: T, normalized_shape: Sequence[int], weight: T | None, bias: T | None) -> None:
    last, shape = tuple(normalized_shape), input.array.shape
    if not last or shape[len(shape) - len(last) :] != last:
        raise RuntimeError(f"an input of shape {list(shape)} does not end with normalized_shape={list(last)}")
    check_parameters(input, last, weight=weight, bias=bias)


def _matrix(x: Array, width: int) -> Array:
    """One sample per row, wide enough to add up in."""
    if x.dtype in dtypes.HALVES:
        x = x.astype(np.float32)
    return row_major(x).reshape(x.size // max(width, 1), width)


def _blocks(x: Array) -> Iterator[slice]:
    """Some rows at a time, so that all passes over them find them in the cache. Without numbers: all at once."""
    rows, width = x.shape
    size = max(1, (1 << 16) // max(1, width)) if has_numbers(x) else max(1, rows)
    return (slice(start, start + size) for start in range(0, rows, size))


@silent
def _by_rows(
    input: T, last: Sequence[int], weight: T | None, bias: T | None, eps: float, centred: bool, name: str
) -> T:
    source = input.array
    shape, dtype, width = source.shape, source.dtype, math.prod(last)
    scales, shifts = (None if t is None else t.array for t in (weight, bias))
    x = _matrix(source, width)
    factor, offset = _row(scales, x.dtype), _row(shifts, x.dtype)
    ones = np.ones(width, x.dtype, like=x)
    out = np.empty_like(x)
    mean, scale = np.zeros((len(x), 1), x.dtype, like=x), np.empty((len(x), 1), x.dtype, like=x)
    for block in _blocks(x):
        result = out[block]
        if centred:
            mean[block, 0] = x[block] @ ones
            mean[block] /= width
        np.subtract(x[block], mean[block], out=result)
        scale[block, 0] = 1 / np.sqrt(np.vecdot(result, result) / width + eps)
        result *= scale[block]
        if factor is not None:
            result *= factor
        if offset is not None:
            result += offset
    del x
    wanted = wants(input, weight, bias)

    def backward(g: Array) -> list[Gradient]:
        x, g = _matrix(source, width), _matrix(g, width)
        factor = _row(scales, x.dtype)
        dx = np.empty_like(x) if wanted[0] else None
        dw, db = np.zeros(width, like=g), np.zeros(width, like=g)
        for block in _blocks(x):
            grad = g[block]
            normal = (x[block] - mean[block]) * scale[block]
            each = np.ones(len(grad), x.dtype, like=x)
            if wanted[1]:
                dw += each @ (grad * normal)
            if wanted[2]:
                db += each @ grad
            if dx is not None:
                result = np.multiply(grad, 1 if factor is None else factor, out=dx[block])
                normal *= (np.vecdot(result, normal) / width)[:, None]
                if centred:
                    result -= (result @ ones / width)[:, None]
                result -= normal
                result *= scale[block]
        grads: list[Gradient] = [None if dx is None else dx.reshape(shape).astype(dtype, copy=False)]
        for like, wish, total in ((scales, wanted[1], dw), (shifts, wanted[2], db)):
            if like is not None:
                grads.append(total.reshape(like.shape).astype(like.dtype) if wish else None)
        return grads

    inputs = [t for t in (input, weight, bias) if t is not None]
    reads = [t for t in (input, weight) if t is not None]
    out = out.reshape(shape).astype(dtype, copy=False)
    return record_joint(out, name, inputs, backward, reads, owns=True)


def _row(parameter: Array | None, dtype: np.dtype[np.generic]) -> Array | None:
    return None if parameter is None else parameter.astype(dtype).reshape(parameter.size)
