"""Convolution in groups: the channels are split, and each group is a convolution of its own.

With as many groups as channels (*depthwise*) there is nothing to sum over but the taps. A matrix product
would have a single row; shifted multiplications do the same work on whole images.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from minitorch_dist.tensors.core.base import Array
from minitorch_dist.tensors.ops.images import correlation
from minitorch_dist.tensors.ops.images.sliding import Axis, taps
from minitorch_dist.tensors.shape_arrays.array import has_numbers


def correlate(
    x: Array, w: Array, rows: Axis, columns: Axis, bias: Array | None, groups: int
) -> Array:
    """Correlate the images x (N, C, H, W) with the kernels w (O, C / groups, KH, KW)."""
    out = np.zeros((len(x), len(w), rows.out, columns.out), x.dtype, like=x)
    if not has_numbers(out):
        return out
    if groups == 1:
        return correlation.correlate(x, w, rows, columns, bias)
    if w.shape[1] == 1:
        for many in _multiples(len(w), groups):
            for i, j, (oh, ih), (ow, iw) in taps(rows, columns):
                scale = w[many, 0, i, j][:, None, None]
                for image, result in zip(x, out[:, many], strict=True):
                    result[:, oh, ow] += image[:, ih, iw] * scale
    else:
        for o, c in _groups(w, groups):
            out[:, o] = correlation.correlate(x[:, c], w[o], rows, columns)
    if bias is not None:
        out += bias[:, None, None]
    return out


def input_gradient(g: Array, w: Array, rows: Axis, columns: Axis, groups: int) -> Array:
    """The gradient of the images, given that of the outputs."""
    out = np.zeros((len(g), w.shape[1] * groups, rows.size, columns.size), g.dtype, like=g)
    if not has_numbers(out):
        return out
    if groups == 1:
        return correlation.input_gradient(g, w, rows, columns)
    if w.shape[1] == 1:
        for many in _multiples(len(w), groups):
            for i, j, (oh, ih), (ow, iw) in taps(rows, columns):
                scale = w[many, 0, i, j][:, None, None]
                for grad, result in zip(g[:, many], out, strict=True):
                    result[:, ih, iw] += grad[:, oh, ow] * scale
    else:
        for o, c in _groups(w, groups):
            out[:, c] = correlation.input_gradient(g[:, o], w[o], rows, columns)
    return out


def weight_gradient(g: Array, x: Array, w: Array, rows: Axis, columns: Axis, groups: int) -> Array:
    """The gradient of the kernels w (of which only the shape is read)."""
    out = np.zeros(w.shape, g.dtype, like=g)
    if not has_numbers(out):
        return out
    if groups == 1:
        return correlation.weight_gradient(g, x, w, rows, columns)
    if w.shape[1] == 1:
        for many in _multiples(len(w), groups):
            for i, j, (oh, ih), (ow, iw) in taps(rows, columns):
                for grad, image in zip(g[:, many], x, strict=True):
                    products = np.einsum("chw,chw->c", grad[:, oh, ow], image[:, ih, iw])
                    out[many, 0, i, j] += products
    else:
        for o, c in _groups(w, groups):
            out[o] = correlation.weight_gradient(g[:, o], x[:, c], w[o], rows, columns)
    return out


def gradients(
    g: Array, x: Array, w: Array, rows: Axis, columns: Axis, groups: int
) -> tuple[Array, Array]:
    """Both, of the images and of the kernels."""
    if groups == 1 and has_numbers(g):
        return correlation.gradients(g, x, w, rows, columns)
    dx = input_gradient(g, w, rows, columns, groups)
    return dx, weight_gradient(g, x, w, rows, columns, groups)


def _groups(w: Array, groups: int) -> Iterator[tuple[slice, slice]]:
    """The output and the input channels of each group."""
    o, c = len(w) // groups, w.shape[1]
    for k in range(groups):
        yield slice(k * o, (k + 1) * o), slice(k * c, (k + 1) * c)


def _multiples(outputs: int, groups: int) -> list[slice]:
    """Depthwise, with several outputs per channel: the first of every channel, the second, …"""
    each = outputs // groups
    return [slice(k, None, each) for k in range(each)]
