"""The arithmetic of convolution, on numpy arrays.

A convolution layer correlates: out[n, o] = Σ over channels c and taps (i, j) of w[o, c, i, j] times
the image shifted by (i, j). Lay out what every output sees as a column (`sliding.im2col`); then the layer is one matrix
product per image, and so are its gradients:

    columns     what each output sees                  (C·KH·KW, outputs)
    out         w @ columns                            (O, outputs)
    dw          Σ over images of g @ columnsᵀ
    dx          wᵀ @ g, added up where it was seen     (`sliding.col2im`)

Groups of channels are separate layers (`in_groups`). The forms in `ops.fast` make fewer copies, and fewer products.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from minitorch_dist.tensors.core.base import Array
from minitorch_dist.tensors.ops.images.sliding import Axis, col2im, im2col
from minitorch_dist.tensors.ops.plugs import replaceable


@replaceable
def correlate(x: Array, w: Array, rows: Axis, columns: Axis) -> Array:
    """Correlate the images x (N, C, H, W) with the kernels w (O, C, KH, KW)."""
    out: Array = w.reshape(len(w), w[0].size) @ _columns(x, rows, columns)
    return out.reshape(len(x), len(w), rows.out, columns.out)


@replaceable
def input_gradient(g: Array, w: Array, rows: Axis, columns: Axis) -> Array:
    """The gradient of the images, given that of the outputs."""
    cols = w.reshape(len(w), w[0].size).T @ _outputs(g)
    shape = (len(g), w.shape[1], rows.kernel, columns.kernel, rows.out, columns.out)
    return col2im(cols.reshape(shape), rows, columns)


@replaceable
def weight_gradient(g: Array, x: Array, w: Array, rows: Axis, columns: Axis) -> Array:
    """The gradient of the kernels w (of which only the shape is read)."""
    each = _outputs(g) @ _columns(x, rows, columns).swapaxes(-1, -2)
    total: Array = each.sum(0)
    return total.reshape(w.shape)


@replaceable
def gradients(g: Array, x: Array, w: Array, rows: Axis, columns: Axis) -> tuple[Array, Array]:
    """Both, of the images and of the kernels."""
    return input_gradient(g, w, rows, columns), weight_gradient(g, x, w, rows, columns)


def _columns(x: Array, rows: Axis, columns: Axis) -> Array:
    """The columns of each image: (N, taps, outputs)."""
    taps = x.shape[1] * rows.kernel * columns.kernel
    return im2col(x, rows, columns).reshape(len(x), taps, rows.out * columns.out)


def _outputs(g: Array) -> Array:
    return g.reshape(*g.shape[:2], g.shape[2] * g.shape[3])


def in_groups(groups: int, function: Callable[..., Array], *arrays: Array, axis: int = 1) -> Array:
    """function(*images, kernels) of each group of channels, side by side along `axis`."""
    if groups == 1:
        return function(*arrays)
    *images, w = arrays
    parts = [np.split(x, groups, 1) for x in images]
    return np.concatenate([function(*one) for one in zip(*parts, np.split(w, groups), strict=True)], axis)
