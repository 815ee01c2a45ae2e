"""The arithmetic of convolution, on numpy arrays.

A convolution layer correlates: out[n, o] = Σ over channels c and taps (i, j) of w[o, c, i, j] times
the image shifted by (i, j). Lay out what every output sees as a column (`sliding.im2col`); then the layer is one matrix
product per image, and so are its gradients:

    columns     what each output sees                  (C·KH·KW, outputs)
    out         w @ columns                            (O, outputs)
    dw          Σ over images of g @ columnsᵀ
    dx          wᵀ @ g, added up where it was seen     (`sliding.col2im`)

In groups, each group of channels has its own product. The forms in `ops.fast` make fewer copies, and fewer products.
"""

from __future__ import annotations

from minitorch_dist.tensors.core.base import Array
from minitorch_dist.tensors.ops.images.sliding import Axis, col2im, im2col
from minitorch_dist.tensors.ops.plugs import replaceable


@replaceable
def correlate(x: Array, w: Array, rows: Axis, columns: Axis, groups: int) -> Array:
    """Correlate the images x (N, C, H, W) with the kernels w (O, C / groups, KH, KW)."""
    out: Array = _matrices(w, groups) @ _columns(x, rows, columns, groups)
    return out.reshape(len(x), len(w), rows.out, columns.out)


@replaceable
def input_gradient(g: Array, w: Array, rows: Axis, columns: Axis, groups: int) -> Array:
    """The gradient of the images, given that of the outputs."""
    cols = _matrices(w, groups).swapaxes(-1, -2) @ _outputs(g, groups)
    channels = w.shape[1] * groups
    shape = (len(g), channels, rows.kernel, columns.kernel, rows.out, columns.out)
    return col2im(cols.reshape(shape), rows, columns)


@replaceable
def weight_gradient(g: Array, x: Array, w: Array, rows: Axis, columns: Axis, groups: int) -> Array:
    """The gradient of the kernels w (of which only the shape is read)."""
    each = _outputs(g, groups) @ _columns(x, rows, columns, groups).swapaxes(-1, -2)
    total: Array = each.sum(0)
    return total.reshape(w.shape)


@replaceable
def gradients(g: Array, x: Array, w: Array, rows: Axis, columns: Axis, groups: int) -> tuple[Array, Array]:
    """Both, of the images and of the kernels."""
    dx = input_gradient(g, w, rows, columns, groups)
    return dx, weight_gradient(g, x, w, rows, columns, groups)


def _matrices(w: Array, groups: int) -> Array:
    """The kernels as a matrix for each group: (groups, O / groups, taps)."""
    taps = w.shape[1] * w.shape[2] * w.shape[3]
    return w.reshape(groups, len(w) // groups, taps)


def _columns(x: Array, rows: Axis, columns: Axis, groups: int) -> Array:
    """The columns of each image and group: (N, groups, taps, outputs)."""
    taps = x.shape[1] // groups * rows.kernel * columns.kernel
    return im2col(x, rows, columns).reshape(len(x), groups, taps, rows.out * columns.out)


def _outputs(g: Array, groups: int) -> Array:
    return g.reshape(len(g), groups, g.shape[1] // groups, g.shape[2] * g.shape[3])
