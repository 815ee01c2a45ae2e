"""Pooling to a given size: the windows follow from it.

Output i of n sees the inputs from floor(i·size/n) up to ceil((i+1)·size/n). They overlap where size is no
multiple of n, so each window is taken by itself; there are as many as outputs, and those are few.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.autograd.joint import record_several
from minitorch_dist.tensors.core.base import Array, T
from minitorch_dist.tensors.core.graph import record
from minitorch_dist.tensors.core.without_warnings import silent

Targets: TypeAlias = "int | Sequence[int | None] | None"
Bins: TypeAlias = "list[tuple[int, int]]"


def adaptive_avg_pool1d(input: T, output_size: Targets) -> T:
    """The means of `output_size` windows of (N, C, L) or (C, L)."""
    return _average(input, _bins("adaptive_avg_pool1d", 1, input, output_size), "1D")


def adaptive_avg_pool2d(input: T, output_size: Targets) -> T:
    """The means of windows of (N, C, H, W) or (C, H, W); None keeps the size of that axis."""
    return _average(input, _bins("adaptive_avg_pool2d", 2, input, output_size), "2D")


def adaptive_max_pool1d(input: T, output_size: Targets, return_indices: bool = False) -> Any:
    """The largest elements of `output_size` windows of (N, C, L) or (C, L)."""
    bins = _bins("adaptive_max_pool1d", 1, input, output_size)
    out = _largest(input, [[(0, 1)], *bins], "1D")
    return out if return_indices else out[0]


def adaptive_max_pool2d(input: T, output_size: Targets, return_indices: bool = False) -> Any:
    """The largest elements of windows of (N, C, H, W) or (C, H, W), and where they are."""
    out = _largest(input, _bins("adaptive_max_pool2d", 2, input, output_size), "2D")
    return out if return_indices else out[0]


def _bins(name: str, dims: int, input: T, output_size: Targets) -> list[Bins]:
    shape = input.array.shape
    if len(shape) not in (dims + 1, dims + 2):
        raise RuntimeError(
            f"{name}(): Expected {dims + 1}D or {dims + 2}D tensor, but got {list(shape)}"
        )
    if 0 in shape[1:]:
        raise RuntimeError(
            f"{name}(): Expected input to have non-zero size for non-batch dimensions, but input "
            f"has sizes {list(shape)}"
        )
    if not input.dtype.is_floating_point:
        raise NotImplementedError(f"{name} is not implemented for {input.dtype}")
    given: Sequence[int | None]
    given = [output_size] * dims if output_size is None or isinstance(output_size, int) else output_size  # fmt: skip
    if len(given) != dims:
        raise RuntimeError(f"{name}: output_size must be {dims} numbers, not {list(given)}")
    wanted = [n if target is None else target for target, n in zip(given, shape[-dims:], strict=True)]  # fmt: skip
    if min(wanted) < 0:
        raise RuntimeError(
            f"{name}: elements of output_size must be greater than or equal to 0 but received {wanted}"
        )
    return [
        [(i * size // n, -(-(i + 1) * size // n)) for i in range(n)]
        for n, size in zip(wanted, shape[-dims:], strict=True)
    ]


@silent
def _average(input: T, axes: list[Bins], kind: str) -> T:
    x = input.array
    dtype, source = x.dtype, x.shape
    wide = np.float32 if dtype in dtypes.HALVES else dtype
    out = x.astype(wide, copy=False)
    if [len(bins) for bins in axes] == [1, 1]:  # one window: its sum is a matrix-vector product
        places = source[-2] * source[-1]
        ones = np.full((places, 1), 1 / places, wide, like=x)
        out = (out.reshape(*source[:-2], places) @ ones)[..., None]
    else:
        for axis, bins in zip(range(-len(axes), 0), axes, strict=True):
            out = _bin_means(out, axis, bins)

    def backward(g: Array) -> Array:
        g = g.astype(wide, copy=False)
        for axis, bins in zip(range(-len(axes), 0), axes, strict=True):
            g = _spread_means(g, axis, bins, source[axis])
        return g.astype(dtype, copy=False)

    out = out.astype(dtype, copy=False)
    return record(out, f"AdaptiveAvgPool{kind}Backward0", (input, backward))


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


def _largest(input: T, axes: list[Bins], kind: str) -> tuple[T, T]:
    rows, columns = axes
    source, dims = input.array.shape, int(kind[0])
    width = source[-1]
    height = 1 if dims == 1 else source[-2]
    x = input.array.reshape(math.prod(source[:-dims]), height, width)
    out = np.empty((len(x), len(rows), len(columns)), x.dtype, like=x)
    where = np.empty(out.shape, np.int64, like=x)
    everyone, count = np.arange(len(x)), len(x)
    for i, (top, bottom) in enumerate(rows):
        for j, (left, right) in enumerate(columns):
            window = x[:, top:bottom, left:right].reshape(len(x), (bottom - top) * (right - left))
            place = window.argmax(1)
            out[:, i, j] = window[everyone, place]
            h, w = np.divmod(place, right - left)
            where[:, i, j] = (h + top) * width + w + left
    shape = (*source[:-dims], *(len(bins) for bins in axes[-dims:]))

    def backward(g: Array, _: Array) -> list[Array]:
        windows = len(rows) * len(columns)
        dx = np.zeros((count, height * width), g.dtype, like=g)
        flat_g, flat = g.reshape(count, windows), where.reshape(count, windows)
        for k in range(windows):  # one window at a time: its places are distinct
            dx[everyone, flat[:, k]] += flat_g[:, k]
        return [dx.reshape(source)]

    arrays = (out.reshape(shape), where.reshape(shape))
    name = f"AdaptiveMaxPool{kind}Backward0"
    return record_several(  # type: ignore[return-value]
        arrays, name, (input,), backward, (input,), (1,), owns=True
    )
