"""The fast forms of `images.correlation`: the same products with fewer copies.

The cost of the simple form is the product plus a copy of the image per tap.

    1×1            the image already is the matrix: no copy at all
    small maps     the simple form, for several images at once, so that the product is wide
    large maps     `shifted_rows`: a copy per kernel column only
                   `winograd`: half of the products, for kernels of three rows and many channels

Each works on one image (or block of images) at a time, so that its columns stay in the cache. It
keeps nothing of it for the backward pass. On one core with AVX-512 (8 images of 64 channels,
32×32, 3×3), processor time: simple 4.4 ms, shifted rows 3.1, winograd 2.0, torch 2.5; both gradients by
winograd 4.3, torch 5.4.

The gradients are correlations again. That of the input takes the output's gradient and the kernel
turned by 180°; a stride of s splits the input into s² phases, each of which sees its own part of the
kernel. That of the weights multiplies the same columns with the output's gradient.
"""

from __future__ import annotations

import numpy as np

from minitorch_dist.tensors.core.base import Array
from minitorch_dist.tensors.ops.fast import shifted_rows, winograd, winograd_gradients
from minitorch_dist.tensors.ops.images import correlation as simple
from minitorch_dist.tensors.ops.images.sliding import Axis, col2im, im2col
from minitorch_dist.tensors.ops.plugs import instead_of

SMALL_MAP = 64  # outputs per image, up to which several images share one product
BLOCK = 5 << 18  # elements of columns at a time (5 MB of float32)


@instead_of(simple.correlate)
def correlate(x: Array, w: Array, rows: Axis, columns: Axis) -> Array:
    """Correlate the images x (N, C, H, W) with the kernels w (O, C, KH, KW)."""
    if _pointwise(rows, columns):
        return _multiply(w.reshape(w.shape[:2]), _picked(x, rows, columns))
    out = np.empty((len(x), len(w), rows.out, columns.out), x.dtype, like=x)
    if rows.out * columns.out <= SMALL_MAP:
        _correlate_gathered(x, w, rows, columns, out)
    elif winograd.fits(w, rows, columns):
        winograd.correlate(x, w, rows, columns, out)
    else:
        shifted_rows.correlate(x, w, rows, columns, out)
    return out


@instead_of(simple.input_gradient)
def input_gradient(g: Array, w: Array, rows: Axis, columns: Axis) -> Array:
    """The gradient of the images, given that of the outputs."""
    if _pointwise(rows, columns):
        return _unpicked(_multiply(w.reshape(w.shape[:2]).T, g), rows, columns)
    dilated = rows.dilation > 1 or columns.dilation > 1
    strided = rows.stride > 1 or columns.stride > 1
    if rows.out * columns.out <= SMALL_MAP or (dilated and strided):
        return _input_gradient_gathered(g, w, rows, columns)
    if not strided:
        return correlate(g, _flipped(w), _phase(rows, 0)[0], _phase(columns, 0)[0])
    out = np.zeros((len(g), w.shape[1], rows.size, columns.size), g.dtype, like=g)
    for i in range(rows.stride):
        for j in range(columns.stride):
            (up, ih), (left, iw) = _phase(rows, i), _phase(columns, j)
            if up.kernel > 0 and left.kernel > 0 and up.out > 0 and left.out > 0:
                part = _flipped(w[:, :, i :: rows.stride, j :: columns.stride])
                out[:, :, ih, iw] = correlate(g, part, up, left)
    return out


@instead_of(simple.weight_gradient)
def weight_gradient(g: Array, x: Array, w: Array, rows: Axis, columns: Axis) -> Array:
    """The gradient of the kernels w (of which only the shape is read)."""
    if _pointwise(rows, columns):
        return _weight_gradient_pointwise(g, _picked(x, rows, columns)).reshape(w.shape)
    if rows.out * columns.out <= SMALL_MAP:
        return _weight_gradient_gathered(g, x, w, rows, columns)
    return shifted_rows.weight_gradient(g, x, w, rows, columns)


@instead_of(simple.gradients)
def gradients(g: Array, x: Array, w: Array, rows: Axis, columns: Axis) -> tuple[Array, Array]:
    """Both, of the images and of the kernels."""
    large = rows.out * columns.out > SMALL_MAP
    if large and winograd.fits(w, rows, columns):
        return winograd_gradients.gradients(g, x, w, rows, columns)
    return input_gradient(g, w, rows, columns), weight_gradient(g, x, w, rows, columns)


def _flipped(w: Array) -> Array:
    """The kernel that sends gradients back: turned by 180°, inputs and outputs swapped."""
    return w[:, :, ::-1, ::-1].swapaxes(0, 1)


def _phase(axis: Axis, r: int) -> tuple[Axis, slice]:
    """How the inputs i with (i + padding) % stride == r see the outputs, and which inputs they are.

    Only the taps r, r + stride, … reach them; through tap r + stride·m, input i sees output q - m,
    where i + padding = stride·q + r.
    """
    kernel = len(range(r, axis.kernel, axis.stride))
    first = max(0, -((r - axis.padding) // axis.stride))  # the q of the first such input
    start = first * axis.stride + r - axis.padding
    count = len(range(start, axis.size, axis.stride))
    reach = axis.dilation * (kernel - 1)
    seen = Axis(axis.out, count, kernel, 1, reach - first, axis.dilation)
    return seen, slice(start, axis.size, axis.stride)


# ------------------------------------------------------------------------------------ 1×1: no columns


def _pointwise(rows: Axis, columns: Axis) -> bool:
    """Whether each output sees one pixel. (A phase of a strided kernel may have outputs that see none.)"""
    return all(
        axis.kernel == 1 and axis.padding == 0 and (axis.out - 1) * axis.stride < axis.size for axis in (rows, columns)
    )


def _picked(x: Array, rows: Axis, columns: Axis) -> Array:
    """The pixels that a 1×1 kernel visits: all of them, unless it is strided or ends early."""
    if x.shape[2:] == (rows.out, columns.out):
        return x
    x = x[:, :, :: rows.stride, :: columns.stride]
    return np.ascontiguousarray(x[:, :, : rows.out, : columns.out], like=x)


def _unpicked(g: Array, rows: Axis, columns: Axis) -> Array:
    if g.shape[2:] == (rows.size, columns.size):
        return g
    out = np.zeros((*g.shape[:2], rows.size, columns.size), g.dtype, like=g)
    out[:, :, :: rows.stride, :: columns.stride][:, :, : rows.out, : columns.out] = g
    return out


def _multiply(w: Array, x: Array) -> Array:
    """w (O, C) times each image; of small maps all images side by side, which makes the product wide."""
    count, channels, high, wide = x.shape
    if high * wide < SMALL_MAP:
        side = w @ _beside(x)
        images = side.reshape(len(w), count, high, wide).swapaxes(0, 1)
        return np.ascontiguousarray(images, like=images)
    out: Array = np.matmul(w, x.reshape(count, channels, high * wide))
    return out.reshape(count, len(w), high, wide)


def _beside(x: Array) -> Array:
    """(N, C, H, W) as a matrix (C, N·H·W)."""
    count, channels, high, wide = x.shape
    return x.swapaxes(0, 1).reshape(channels, count * high * wide)


def _weight_gradient_pointwise(g: Array, x: Array) -> Array:
    if g.shape[2] * g.shape[3] <= SMALL_MAP:
        return _beside(g) @ _beside(x).T
    places = g.shape[2] * g.shape[3]
    g, x = g.reshape(*g.shape[:2], places), x.reshape(*x.shape[:2], places)
    out = np.zeros((g.shape[1], x.shape[1]), g.dtype, like=g)
    part = np.empty_like(out)
    for one_g, one_x in zip(g, x, strict=True):
        out += np.matmul(one_g, one_x.T, out=part)
    return out


# ------------------------------------------------------- the simple form, for several images at once


def _blocks(count: int, per_image: int) -> list[slice]:
    """The images in blocks of about equal size whose columns stay below BLOCK."""
    blocks = max(1, -(-count * per_image // BLOCK))
    size = -(-count // blocks)
    return [slice(start, min(start + size, count)) for start in range(0, count, max(size, 1))]


def _correlate_gathered(x: Array, w: Array, rows: Axis, columns: Axis, out: Array) -> None:
    matrix = w.reshape(len(w), -1)
    places = rows.out * columns.out
    for block in _blocks(len(x), matrix.shape[1] * places):
        y = matrix @ _columns(x[block], rows, columns)
        shape = (len(w), -1, rows.out, columns.out)
        out[block] = y.reshape(shape).swapaxes(0, 1)


def _columns(x: Array, rows: Axis, columns: Axis) -> Array:
    """im2col as a matrix (C·KH·KW, N·H·W)."""
    count, channels = x.shape[:2]
    cols = np.zeros((channels, rows.kernel, columns.kernel, count, rows.out, columns.out), x.dtype, like=x)
    im2col(x, rows, columns, out=cols.transpose(3, 0, 1, 2, 4, 5))
    return cols.reshape(channels * rows.kernel * columns.kernel, -1)


def _weight_gradient_gathered(g: Array, x: Array, w: Array, rows: Axis, columns: Axis) -> Array:
    out = np.zeros((len(w), w[0].size), g.dtype, like=g)
    for block in _blocks(len(x), w[0].size * rows.out * columns.out):
        out += _beside(g[block]) @ _columns(x[block], rows, columns).T
    return out.reshape(w.shape)


def _input_gradient_gathered(g: Array, w: Array, rows: Axis, columns: Axis) -> Array:
    out = np.zeros((len(g), w.shape[1], rows.size, columns.size), g.dtype, like=g)
    matrix = w.reshape(len(w), -1).T
    for block in _blocks(len(g), w[0].size * rows.out * columns.out):
        cols = matrix @ _beside(g[block])
        cols = cols.reshape(*w.shape[1:], -1, rows.out, columns.out)
        col2im(cols.transpose(3, 0, 1, 2, 4, 5), rows, columns, out=out[block])
    return out
