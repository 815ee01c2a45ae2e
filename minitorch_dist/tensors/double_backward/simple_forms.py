"""Operations whose gradient is hard to record, written once more in operations that are easy.

The backward pass of a convolution or a norm is tuned: it writes into blocks, and calls functions that numpy has no
protocol for. A recorded pass leaves it alone. It computes the result again in the simple form that stands here, and
takes the gradient of that. So gradients of any order follow, and a pass that is not recorded never comes here.

A form gets what the function of the node keeps, and the tensors that the node has read. It returns the inputs, one for
each edge, and the results. An input that enters as a sum, and is not read, may be a tensor of zeros.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from minitorch_dist.tensors.core.base import Array
from minitorch_dist.tensors.double_backward import simple_pooling, simple_products
from minitorch_dist.tensors.double_backward.recording_array import constant
from minitorch_dist.tensors.double_backward.simple_pooling import planes
from minitorch_dist.tensors.double_backward.simple_products import (
    Cells,
    Form,
    wide,
    zeros,
)
from minitorch_dist.tensors.ops.images import padding
from minitorch_dist.tensors.ops.images.sliding import Axis
from minitorch_dist.tensors.ops.layers.recurrent_cells import Gru, Lstm, Relu
from minitorch_dist.tensors.ops.shapes import joining

# ---------------------------------------------------------------------------------- convolutions


def correlated(x: Any, w: Any, rows: Axis, columns: Axis, groups: int) -> Any:
    """Images (N, C, H, W) under kernels (O, C / groups, KH, KW): a product for each tap, and their sum."""
    count, channels, kernels = x.shape[0], x.shape[1], w.shape[0]
    sides = [side for axis in (columns, rows) for side in (axis.padding, _behind(axis))]
    wide = padding.pad(x, sides) if any(sides) else x
    total: Any = None
    for i in range(rows.kernel):
        for j in range(columns.kernel):
            part = wide[:, :, _places(rows, i), :][:, :, :, _places(columns, j)]
            part = part.reshape(count, groups, channels // groups, rows.out * columns.out)
            tap = w[:, :, i, j].reshape(groups, kernels // groups, channels // groups)
            total = tap @ part if total is None else total + tap @ part
    return total.reshape(count, kernels, rows.out, columns.out)


def _behind(axis: Axis) -> int:
    """How many zeros the last window needs after the image; negative if it ends before."""
    reach = (axis.out - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1
    return reach - axis.size - axis.padding


def _places(axis: Axis, tap: int) -> slice:
    start = tap * axis.dilation
    return slice(start, start + (axis.out - 1) * axis.stride + 1, axis.stride)


def _with_bias(cells: Cells, inputs: list[Any], out: Any, shape: Any) -> Any:
    out = out.reshape(shape)
    if cells["count"] == 3:
        channel = out.ndim - 1 - cells["dims"]
        inputs.append(zeros((out.shape[channel],), out.array.dtype))
        out = out + inputs[-1].reshape((-1,) + (1,) * cells["dims"])
    return out


def _convolution(cells: Cells, reads: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
    x, w = reads
    dims, rows, columns = cells["dims"], cells["rows"], cells["columns"]
    kernels = w.unsqueeze(2) if w.ndim == 3 else w
    out = correlated(planes(x, dims), kernels, rows, columns, cells["groups"])
    shape = (*x.shape[: -dims - 1], len(w), *(rows.out, columns.out)[-dims:])
    inputs = [x, w]
    return inputs, [_with_bias(cells, inputs, out, shape)]


def _transposed(cells: Cells, reads: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
    """Each tap adds its product to the places that it saw; the padding is cut off."""
    x, w = reads
    dims, rows, columns, groups = (cells[name] for name in ("dims", "rows", "columns", "groups"))
    given, kernels = planes(x, dims), w.unsqueeze(2) if w.ndim == 3 else w
    count, channels, made = given.shape[0], given.shape[1], w.shape[1] * groups
    parts = given.reshape(count, groups, channels // groups, rows.out * columns.out)
    high, wide = (axis.padding + axis.size + _behind(axis) for axis in (rows, columns))
    whole = constant(np.zeros((count, made, high, wide), x.array.dtype), x.storage.device)
    for i in range(rows.kernel):
        for j in range(columns.kernel):
            tap = kernels[:, :, i, j].reshape(groups, channels // groups, made // groups)
            part = (tap.mT @ parts).reshape(count, made, rows.out, columns.out)
            whole[:, :, _places(rows, i), _places(columns, j)] += part
    sides = [-side for axis in (columns, rows) for side in (axis.padding, _behind(axis))]
    out = padding.pad(whole, sides) if any(sides) else whole
    shape = (*x.shape[: -dims - 1], made, *(rows.size, columns.size)[-dims:])
    inputs = [x, w]
    return inputs, [_with_bias(cells, inputs, out, shape)]


# ----------------------------------------------------------------------------------------- norms


def _affine(x: Any, weight: Any, inputs: list[Any], shape: Any, bias: Any) -> Any:
    """x · weight + bias, each in `shape`; `bias` is None or the shape and type of one."""
    if weight is not None:
        inputs.append(weight)
        x = x * weight.reshape(shape).to(x.dtype)
    if bias is not None:
        inputs.append(zeros(*bias))
        x = x + inputs[-1].reshape(shape).to(x.dtype)
    return x


def _distance(apart: Any, over: Any, scale: Array) -> Any:
    """1/σ of numbers whose mean is 0. `scale` holds the caller's ε, too: it is what 1/scale² has more than their variance."""
    var = (apart * apart).mean(over, keepdim=True)
    least = constant((1 / scale**2 - var.array).astype(var.array.dtype), var.storage.device)
    return (var + least).rsqrt()


def _by_rows(cells: Cells, reads: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
    """Layer norm and RMS norm."""
    x, weight = reads[0], reads[1] if cells["scales"] is not None else None
    kind = x.dtype
    rows = x.reshape(-1, cells["width"]).to(wide(x))
    apart = rows - rows.mean(1, keepdim=True) if cells["centred"] else rows
    normal = apart * _distance(apart, 1, cells["scale"])
    inputs, shifts = [x], cells["shifts"]
    bias = None if shifts is None else (shifts.shape, shifts.dtype)
    out = _affine(normal, weight, inputs, (1, cells["width"]), bias)
    return inputs, [out.reshape(x.shape).to(kind)]


def _shared_norm(cells: Cells, reads: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
    """Batch, group and instance norm."""
    x, weight = reads[0], reads[1] if cells["of_weight"] is not None else None
    over: Any
    shared, kind, (images, channels) = cells["shared"], x.dtype, x.shape[:2]
    grouped = shared not in (None, (0,))
    planes = x.reshape(images, channels, math.prod(x.shape[2:])).to(wide(x))
    mean, std = cells["mean"], cells["std"]
    if shared is None:  # running statistics: constants
        mean, std = (constant(v[:, :, None].astype(planes.array.dtype), x.storage.device) for v in (mean, std))  # fmt: skip
        normal = (planes - mean) * std
    else:
        if grouped:  # one row for each group of channels
            planes = planes.reshape(images, shared, channels // shared * math.prod(x.shape[2:]))
            over, scale = 2, std[:, :: channels // shared, None]
        elif x.ndim == 2:  # (N, C)
            over, scale = (0, 2), std.reshape(-1, channels, 1)[:1]
        else:
            over, scale = (0, 2), std[:1, :, None]
        apart = planes - planes.mean(over, keepdim=True)
        normal = (apart * _distance(apart, over, scale)).reshape(
            images, channels, math.prod(x.shape[2:])
        )
    inputs = [x]
    bias = None if cells["of_bias"] is None else ((channels,), cells["of_bias"])
    out = _affine(normal, weight, inputs, (1, channels, 1), bias)
    return inputs, [out.reshape(x.shape).to(kind)]


def _moments(root: bool) -> Form:
    def form(cells: Cells, reads: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        (x,) = reads
        over, keepdim = cells["over"] or tuple(range(x.ndim)), cells["keepdim"]
        apart = x - x.mean(over, keepdim=True)
        var = (apart * apart).sum(over, keepdim=keepdim) / cells["freedom"]
        return [x], [var.sqrt() if root else var]

    return form


def _with_mean(cells: Cells, reads: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
    moments = vars(cells["m"])
    form = _moments(root=cells["gradient"].__name__ == "std_gradient")
    inputs, (measure,) = form(moments, reads)
    over = moments["over"] or tuple(range(inputs[0].ndim))
    return inputs, [measure, inputs[0].mean(over, keepdim=moments["keepdim"])]


# ------------------------------------------------------------------------------------- recurrence


def _recurrent(cells: Cells, reads: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
    """One direction of a layer, row by row as `recurrent.Walk` goes."""
    w, cell = cells["w"], cells["cell"]
    data, *rest = reads
    c = rest[1] if cells["c"] is not None else None
    h, weights = rest[0], iter(rest[1 if c is None else 2 :])
    into: Any
    state: Any
    into, state, first, second, shrink = [next(weights) if part is not None else None for part in w]
    outside = data @ into.t()
    outside = outside if first is None else outside + first
    rows: dict[int, Any] = {}
    for places, n in cells["steps"]:
        inside = h[:n] @ state.t()
        inside = inside if second is None else inside + second
        new, new_c = _step(cell, outside[places], inside, h[:n], None if c is None else c[:n])
        new = new if shrink is None else new @ shrink.t()
        rows[places.start] = new
        h = joining.cat([new, h[n:]], 0)
        c = c if c is None else joining.cat([new_c, c[n:]], 0)
    output = joining.cat([rows[start] for start in sorted(rows)], 0)
    return reads, [output, h] if c is None else [output, h, c]


def _step(cell: Any, outside: Any, inside: Any, h: Any, c: Any) -> tuple[Any, Any]:
    if isinstance(cell, Lstm):
        i, f, g, o = (outside + inside).chunk(4, 1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        return o.sigmoid() * c.tanh(), c
    if isinstance(cell, Gru):
        r_out, z_out, n_out = outside.chunk(3, 1)
        r_in, z_in, n_in = inside.chunk(3, 1)
        z = (z_out + z_in).sigmoid()
        n = (n_out + (r_out + r_in).sigmoid() * n_in).tanh()
        return (1 - z) * n + z * h, None
    return (outside + inside).relu() if isinstance(cell, Relu) else (outside + inside).tanh(), None


# ------------------------------------------------------------------------------------------- names

_OPS = "minitorch_dist.tensors.ops."
FORMS: dict[str, Form] = {
    **simple_pooling.FORMS,
    **simple_products.FORMS,
    _OPS + "along_axes.variance.Moments.std_gradient": _moments(root=True),
    _OPS + "along_axes.variance.Moments.var_gradient": _moments(root=False),
    _OPS + "along_axes.variance._with_mean.<locals>.backward": _with_mean,
    _OPS + "images.convolution._convolve.<locals>.backward": _convolution,
    _OPS + "images.convolution._convolve_transposed.<locals>.backward": _transposed,
    _OPS + "layers.layer_norm._by_rows.<locals>.backward": _by_rows,
    _OPS + "layers.normalization._normalised.<locals>.backward": _shared_norm,
    _OPS + "layers.recurrent.Walk.back": _recurrent,
}
"""The key is the module and name of the node's own function."""


def form_of(function: Any) -> Form | None:
    function = getattr(function, "__func__", function)
    return FORMS.get(f"{function.__module__}.{getattr(function, '__qualname__', '')}")
