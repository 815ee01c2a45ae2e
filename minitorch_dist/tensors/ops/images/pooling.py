"""Pooling: each window of an image becomes one number, its largest or its mean.

Windows are rectangles, so both are done one axis after the other: first along the rows, then along the
columns of the result. Each is a loop over taps with whole-array slices (see `sliding`). A k×k window
costs 2k passes instead of k². Padding is never stored: it is -inf, or 0, where no slice reaches.

The maximum keeps no indices for its backward pass. It compares the input with the result again, tap
by tap in reading order; the first that is equal gets the gradient, as in torch.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.core.base import Array, T
from minitorch_dist.tensors.core.graph import record, result
from minitorch_dist.tensors.core.without_warnings import silent
from minitorch_dist.tensors.masks import only
from minitorch_dist.tensors.ops.images.sliding import Axis, Sizes, per_axis, seen, taps


def max_pool2d(input: T, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0, dilation: Sizes = 1) -> T:
    """The largest element of each window of (N, C, H, W) or (C, H, W)."""
    rows, columns = _axes("max_pool2d", input, kernel_size, stride, padding, dilation)
    return _max_pool(input, rows, columns)


def avg_pool2d(input: T, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0) -> T:
    """The mean of each window of (N, C, H, W) or (C, H, W), where padding counts as zeros."""
    rows, columns = _axes("avg_pool2d", input, kernel_size, stride, padding, 1)
    return _avg_pool(input, rows, columns)


# ------------------------------------------------------------------------------------------ geometry


def _axes(
    name: str, input: T, kernel_size: Sizes, stride: Sizes | None, padding: Sizes, dilation: Sizes
) -> tuple[Axis, Axis]:
    shape = input.array.shape
    if len(shape) not in (3, 4) or 0 in shape[-3:]:
        raise RuntimeError(f"{name} takes (N, C, H, W) or (C, H, W) with elements in each image, but got {list(shape)}")
    if input.array.dtype.kind == "b":
        raise NotImplementedError(f"{name} is not implemented for bool tensors")
    kernel = per_axis(kernel_size, 2, "kernel_size", 1)
    steps = kernel if stride is None or stride == () else per_axis(stride, 2, "stride", 1)
    before = per_axis(padding, 2, "padding", 0)
    spread = per_axis(dilation, 2, "dilation", 1)
    axes = []
    for n, k, s, p, d in zip(shape[-2:], kernel, steps, before, spread, strict=True):
        reach = d * (k - 1) + 1
        if p > reach // 2 or p > k // 2:
            raise RuntimeError(f"pad={p} is more than half of a kernel of {k} with dilation={d}")
        axes.append(Axis(n, (n + 2 * p - reach) // s + 1, k, s, p, d))
    if any(axis.out < 1 for axis in axes):
        raise RuntimeError(
            f"an input of {list(shape)} makes an output of {[axis.out for axis in axes]}, which is too small"
        )
    return axes[0], axes[1]


def _images(x: Array) -> Array:
    """As (N, C, H, W), where the batch may be missing."""
    return x[None] if x.ndim == 3 else x


def _blocks(x: Array) -> Iterator[slice]:
    """A few images at a time, so that all passes over them find them in the cache."""
    size = max(1, (1 << 17) // max(1, x[:1].size))
    return (slice(start, start + size) for start in range(0, len(x), size))


# ----------------------------------------------------------------------------------------- the largest


def _max_pool(input: T, rows: Axis, columns: Axis) -> T:
    values = input.array
    source = values.shape
    shape = (*source[:-2], rows.out, columns.out)
    out = _largest(_images(values), rows, columns).reshape(shape)

    def backward(g: Array) -> Array:
        x = _images(values)
        unchanged = storage.version == 0  # a ReLU may have been applied in place
        best = _images(out) if unchanged else _largest(x, rows, columns)
        return _max_gradient(_images(g), x, best, rows, columns).reshape(source)

    if out.dtype.kind in "iu":
        return result(input, out)
    pooled = record(out, "MaxPool2DWithIndicesBackward0", (input, backward, input))
    storage = pooled.storage
    return pooled


def _largest(x: Array, rows: Axis, columns: Axis) -> Array:
    """The largest value of every window, first along one axis and then along the other."""
    lowest = -np.inf if x.dtype.kind not in "iu" else np.iinfo(x.dtype).min
    return _gathered(np.maximum, x, lowest, x.dtype, rows, columns)


def _gathered(ufunc: np.ufunc, x: Array, first: float, dtype: np.dtype[Any], rows: Axis, columns: Axis) -> Array:
    """All elements of every window by way of `ufunc`, which begins with the number `first`."""
    out = np.full((*x.shape[:2], rows.out, columns.out), first, dtype, like=x)
    for block in _blocks(x):
        part = x[block]
        middle = np.full((*part.shape[:2], rows.out, columns.size), first, dtype, like=x)
        for i in range(rows.kernel):
            oh, ih = seen(rows, i)
            ufunc(middle[:, :, oh], part[:, :, ih], out=middle[:, :, oh])
        for j in range(columns.kernel):
            ow, iw = seen(columns, j)
            there = out[block, :, :, ow]
            ufunc(there, middle[:, :, :, iw], out=there)
    return out


def _max_gradient(g: Array, x: Array, out: Array, rows: Axis, columns: Axis) -> Array:
    """Each output's gradient, at the first place of its window that is as large as the output."""
    tiled = all(a.kernel == a.stride and a.padding == 0 and a.dilation == 1 for a in (rows, columns))
    covered = tiled and all(a.out * a.stride == a.size for a in (rows, columns))
    dx = np.empty(x.shape, g.dtype, like=g) if covered else np.zeros(x.shape, g.dtype, like=g)
    for block in _blocks(x):
        left = np.ones(out[block].shape, np.bool_, like=x)  # outputs that have not found their place yet
        for _, _, (oh, ih), (ow, iw) in taps(rows, columns):
            waiting = left[:, :, oh, ow]
            hit = x[block, :, ih, iw] == out[block, :, oh, ow]
            hit &= waiting
            waiting ^= hit
            share = only(g[block, :, oh, ow], hit)
            if tiled:  # windows do not overlap: each input is seen once
                dx[block, :, ih, iw] = share
            else:
                dx[block, :, ih, iw] += share
        if left.any():
            _to_nan(g[block], x[block], left, dx[block], rows, columns)
    return dx


def _to_nan(g: Array, x: Array, left: Array, dx: Array, rows: Axis, columns: Axis) -> None:
    """The gradients of windows whose largest is nan, which equals nothing: to their last nan."""
    for _, _, (oh, ih), (ow, iw) in reversed(list(taps(rows, columns))):
        waiting = left[:, :, oh, ow]
        hit = np.isnan(x[:, :, ih, iw]) & waiting
        waiting ^= hit
        dx[:, :, ih, iw] += only(g[:, :, oh, ow], hit)


# -------------------------------------------------------------------------------------------- the mean


@silent
def _avg_pool(input: T, rows: Axis, columns: Axis) -> T:
    dtype, source = input.array.dtype, input.array.shape
    count = rows.kernel * columns.kernel
    x = _images(input.array)
    wide = np.dtype(np.float32) if dtype in dtypes.HALVES else dtype
    out = _gathered(np.add, x, 0, wide, rows, columns)
    if dtype.kind in "iu":
        whole = np.trunc(out / count).astype(dtype)
        return result(input, whole.reshape(*source[:-2], rows.out, columns.out))
    out = (out / wide.type(count)).astype(dtype, copy=False)
    out = out.reshape(*source[:-2], rows.out, columns.out)

    def backward(g: Array) -> Array:
        g = _images(g).astype(wide) / wide.type(count)
        dx = np.zeros((*g.shape[:2], rows.size, columns.size), wide, like=g)
        for block in _blocks(dx):
            part = g[block]
            middle = np.zeros((*part.shape[:2], rows.out, columns.size), wide, like=g)
            for j in range(columns.kernel):
                ow, iw = seen(columns, j)
                middle[:, :, :, iw] += part[:, :, :, ow]
            for i in range(rows.kernel):
                oh, ih = seen(rows, i)
                dx[block, :, ih] += middle[:, :, oh]
        return dx.reshape(source).astype(dtype, copy=False)

    return record(out, "AvgPool2DBackward0", (input, backward))
