"""Pooling to a given size: the windows follow from it.

Output i of n sees the inputs from floor(i·size/n) up to ceil((i+1)·size/n). They overlap where size is no
multiple of n, so each window is taken by itself; there are as many as outputs, and those are few.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.core.base import Array, T
from minitorch_dist.tensors.core.graph import record
from minitorch_dist.tensors.core.without_warnings import silent

Targets: TypeAlias = "int | Sequence[int | None] | None"
Bins: TypeAlias = "list[tuple[int, int]]"


def adaptive_avg_pool2d(input: T, output_size: Targets) -> T:
    """The means of windows of (N, C, H, W) or (C, H, W); None keeps the size of that axis."""
    return _average(input, _bins(input, output_size))


def _bins(input: T, output_size: Targets) -> list[Bins]:
    shape, name = input.array.shape, "adaptive_avg_pool2d"
    if len(shape) not in (3, 4) or 0 in shape[1:]:
        raise RuntimeError(f"{name}(): Expected non-empty 3D or 4D tensor, but got {list(shape)}")
    if not input.dtype.is_floating_point:
        raise NotImplementedError(f"{name} is not implemented for {input.dtype}")
    given: Any = output_size
    if given is None or isinstance(given, int):
        given = [output_size] * 2
    wanted = [n if target is None else target for target, n in zip(given, shape[-2:], strict=True)]
    if min(wanted) < 0:
        raise RuntimeError(f"{name}: output_size must not be negative, but got {wanted}")
    return [
        [(i * size // n, -(-(i + 1) * size // n)) for i in range(n)] for n, size in zip(wanted, shape[-2:], strict=True)
    ]


@silent
def _average(input: T, axes: list[Bins]) -> T:
    x = input.array
    dtype, source = x.dtype, x.shape
    wide = np.float32 if dtype in dtypes.HALVES else dtype
    out = x.astype(wide, copy=False)
    if [len(bins) for bins in axes] == [1, 1]:  # one window: its sum is a matrix-vector product
        places = source[-2] * source[-1]
        ones = np.full((places, 1), 1 / places, wide, like=x)
        out = (out.reshape(*source[:-2], places) @ ones)[..., None]
    else:
        for axis, bins in zip((-2, -1), axes, strict=True):
            out = _bin_means(out, axis, bins)

    def backward(g: Array) -> Array:
        g = g.astype(wide, copy=False)
        for axis, bins in zip((-2, -1), axes, strict=True):
            g = _spread_means(g, axis, bins, source[axis])
        return g.astype(dtype, copy=False)

    out = out.astype(dtype, copy=False)
    return record(out, "AdaptiveAvgPool2DBackward0", (input, backward))


def _bin_means(x: Array, axis: int, bins: Bins) -> Array:
    shape = list(x.shape)
    shape[axis] = len(bins)
    out = np.empty(shape, x.dtype, like=x)
    x, means = np.moveaxis(x, axis, -1), np.moveaxis(out, axis, -1)
    for i, (start, stop) in enumerate(bins):
        x[..., start:stop].mean(-1, out=means[..., i])
    return out


def _spread_means(g: Array, axis: int, bins: Bins, size: int) -> Array:
    shape = list(g.shape)
    shape[axis] = size
    out = np.zeros(shape, g.dtype, like=g)
    g, places = np.moveaxis(g, axis, -1), np.moveaxis(out, axis, -1)
    for i, (start, stop) in enumerate(bins):
        places[..., start:stop] += (g[..., i] / g.dtype.type(stop - start))[..., None]
    return out
