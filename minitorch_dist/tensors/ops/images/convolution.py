"""Convolution layers: the checks, the geometry, and the gradients. The arithmetic is in `correlation`.

A 1-d convolution is a 2-d one on images of height 1. A transposed convolution is the input gradient
of a convolution, used as a layer. It maps (N, out, …) back to (N, in, …), and its own
input gradient is the convolution. Nothing but the input and the weights is kept for the backward pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from minitorch_dist.tensors import dtypes, flops
from minitorch_dist.tensors.autograd.joint import record_joint, wants
from minitorch_dist.tensors.core.base import Array, T, TensorBase
from minitorch_dist.tensors.core.graph import Gradient
from minitorch_dist.tensors.core.without_warnings import silent
from minitorch_dist.tensors.ops import autocasting
from minitorch_dist.tensors.ops.elementwise.copying import row_major
from minitorch_dist.tensors.ops.images import correlation
from minitorch_dist.tensors.ops.images.correlation import in_groups
from minitorch_dist.tensors.ops.images.sliding import Axis, Sizes, per_axis

Shape = tuple[int, ...]


@autocasting.lower
def conv1d(
    input: T,
    weight: T,
    bias: T | None = None,
    stride: Sizes = 1,
    padding: Sizes | str = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> T:
    """Slide kernels (O, C / groups, K) over sequences (N, C, L) or (C, L)."""
    return _convolve(1, input, weight, bias, stride, padding, dilation, groups)


@autocasting.lower
def conv2d(
    input: T,
    weight: T,
    bias: T | None = None,
    stride: Sizes = 1,
    padding: Sizes | str = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> T:
    """Slide kernels (O, C / groups, KH, KW) over images (N, C, H, W) or (C, H, W).

    `padding` is a number of zeros on both sides (or one per axis), "valid" (none), or "same" (as
    many as keep the size; of an odd number the right side gets one more).
    """
    return _convolve(2, input, weight, bias, stride, padding, dilation, groups)


@autocasting.lower
def conv_transpose2d(
    input: T,
    weight: T,
    bias: T | None = None,
    stride: Sizes = 1,
    padding: Sizes = 0,
    output_padding: Sizes = 0,
    groups: int = 1,
    dilation: Sizes = 1,
) -> T:
    """The gradient of conv2d with respect to its input, as a layer; weight is (C, O / groups, KH, KW).

    Several input sizes of a strided convolution give the same output size; `output_padding`
    chooses among them by adding rows and columns at the end.
    """
    return _convolve(2, input, weight, bias, stride, padding, dilation, groups, output_padding)


# ------------------------------------------------------------------------------------------- layers


@silent
def _convolve(
    dims: int,
    input: T,
    weight: T,
    bias: T | None,
    stride: Sizes,
    padding: Sizes | str,
    dilation: Sizes,
    groups: int,
    output_padding: Sizes | None = None,
) -> T:
    """One layer. With an `output_padding` it is transposed: then the input is what a convolution would make."""
    transposed = output_padding is not None
    _check(f"conv{'_transpose' * transposed}{dims}d", dims, input, weight, bias, groups, transposed)
    x, w = input.array, weight.array
    steps, spread = per_axis(stride, dims, "stride", 1), per_axis(dilation, dims, "dilation", 1)
    size, kernel = x.shape[-dims:], w.shape[2:]
    if output_padding is None:
        axes = _seen(size, kernel, steps, spread, padding)
        made, channels = [axis.out for axis in axes], len(w)
    else:
        axes = _spread(size, kernel, steps, spread, padding, output_padding)
        made, channels = [axis.size for axis in axes], w.shape[1] * groups
    rows, columns = axes if dims == 2 else (Axis(1, 1, 1), axes[0])
    place: Any = {"rows": rows, "columns": columns}
    source, dtype = x.shape, x.dtype
    images, kernels = _images(x, dims), _kernels(w)
    forward: Any = partial(correlation.correlate, **place)
    back: Any = partial(correlation.input_gradient, **place)
    if transposed:
        forward, back = back, forward
    out = in_groups(groups, forward, images, kernels)
    if bias is not None:
        out += _working(bias.array)[:, None, None]
    operations = 2 * len(images) * rows.out * columns.out * w.size
    if flops.counters.on:
        flops.done("aten.convolution", operations)
    wanted = wants(input, weight, bias)
    inputs = [input, weight] if bias is None else [input, weight, bias]
    count = len(inputs)
    del images, kernels

    def backward(g: Array) -> list[Gradient]:
        g, kernels = _images(g, dims), _kernels(w)
        if flops.counters.on:
            flops.done("aten.convolution_backward", (wanted[0] + wanted[1]) * operations)
        dx = dw = db = None
        if wanted[2]:
            db = _sum_channels(g).astype(dtype, copy=False)
        if wanted[0] and wanted[1] and not transposed and groups == 1:
            dx, dw = correlation.gradients(g, _images(x, dims), kernels, **place)
        else:
            if wanted[1]:
                pair = (_images(x, dims), g) if transposed else (g, _images(x, dims))
                dw = in_groups(groups, partial(correlation.weight_gradient, **place), *pair, kernels, axis=0)
            if wanted[0]:
                dx = in_groups(groups, back, g, kernels)
        if dx is not None:
            dx = dx.reshape(source).astype(dtype, copy=False)
        if dw is not None:
            dw = dw.reshape(w.shape).astype(dtype, copy=False)
        return [dx, dw, db][:count]

    out = out.reshape((*source[: -dims - 1], channels, *made)).astype(dtype, copy=False)
    return record_joint(out, "ConvolutionBackward0", inputs, backward, (input, weight), owns=True)


# ------------------------------------------------------------------------------------------ geometry


def _seen(size: Shape, kernel: Shape, steps: Shape, spread: Shape, padding: Sizes | str) -> list[Axis]:
    """The axes of a convolution of images of this size."""
    before, after = sides(padding, kernel, steps, spread)
    padded = [n + a + b for n, a, b in zip(size, before, after, strict=True)]
    reach = [d * (k - 1) + 1 for d, k in zip(spread, kernel, strict=True)]
    if any(r > n for r, n in zip(reach, padded, strict=True)):
        raise RuntimeError(f"a kernel that reaches over {reach} is larger than a padded input of {padded}")
    made = [(n - r) // s + 1 for n, r, s in zip(padded, reach, steps, strict=True)]
    return [Axis(*one) for one in zip(size, made, kernel, steps, before, spread, strict=True)]


def _spread(size: Shape, kernel: Shape, steps: Shape, spread: Shape, padding: Any, output_padding: Sizes) -> list[Axis]:
    """The axes of the convolution whose outputs have this size: it is the images that are made."""
    before = per_axis(padding, len(size), "padding", 0)
    extra = per_axis(output_padding, len(size), "output_padding", 0)
    if any(e >= max(s, d) for e, s, d in zip(extra, steps, spread, strict=True)):
        raise RuntimeError(f"output_padding {extra} must be smaller than stride {steps} or dilation {spread}")
    made = [
        (n - 1) * s - 2 * p + d * (k - 1) + e + 1
        for n, s, p, d, k, e in zip(size, steps, before, spread, kernel, extra, strict=True)
    ]
    if min(made) < 1:
        raise RuntimeError(f"an input of {size} makes an output of {made}, which is too small")
    return [Axis(*one) for one in zip(made, size, kernel, steps, before, spread, strict=True)]


# ---------------------------------------------------------------------------- from arguments to arrays


def _working(array: Array) -> Array:
    """In C order, and wide enough to add up in: halves are computed in float32."""
    if array.dtype in dtypes.HALVES:
        array = array.astype(np.float32)
    return row_major(array)


def _images(x: Array, dims: int) -> Array:
    """As (N, C, H, W), where the batch or the height may be missing."""
    x = _working(x)
    if x.ndim == dims + 1:
        x = x[None]
    return x[:, :, None] if dims == 1 else x


def _kernels(w: Array) -> Array:
    w = _working(w)
    return w[:, :, None] if w.ndim == 3 else w


def _sum_channels(g: Array) -> Array:
    count, channels, high, wide = g.shape
    planes = g.reshape(count * channels, high * wide)
    sums = planes @ np.ones(high * wide, g.dtype, like=g)  # numpy's fastest sum of long rows
    return np.asanyarray(sums.reshape(count, channels).sum(0))


def sides(
    padding: Sizes | str, kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int]
) -> tuple[Sequence[int], Sequence[int]]:
    """Zeros before and after each axis."""
    if not isinstance(padding, str):
        both = per_axis(padding, len(kernel), "padding", 0)
        return both, both
    if padding == "valid":
        return [0] * len(kernel), [0] * len(kernel)
    if padding != "same":
        raise RuntimeError(f"Invalid padding string: '{padding}' (it is 'valid' or 'same')")
    if any(s != 1 for s in stride):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    total = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
    return [n // 2 for n in total], [n - n // 2 for n in total]


def _check(
    name: str, dims: int, input: TensorBase, weight: TensorBase, bias: TensorBase | None, groups: int, transposed: bool
) -> None:
    for given_one in (input, weight):
        if not hasattr(given_one, "array"):
            raise TypeError(f"{name}() takes tensors, not {type(given_one).__name__}")
    x, w = input.array, weight.array
    if x.ndim not in (dims + 1, dims + 2):
        raise RuntimeError(f"{name} takes {dims + 1} dimensions, or {dims + 2} with a batch, but got {list(x.shape)}")
    if w.ndim != dims + 2:
        raise RuntimeError(f"{name} expects a weight of {dims + 2} dimensions, but got one of size {list(w.shape)}")
    if x.dtype != w.dtype:
        raise RuntimeError(f"expected scalar type {input.dtype} but found {weight.dtype}")
    if x.dtype.kind == "b":
        raise NotImplementedError(f"{name} is not implemented for bool tensors")
    inputs, outputs = w.shape[1] * groups, len(w)
    if transposed:
        inputs, outputs = outputs, inputs
    divisible = groups >= 1 and len(w) >= groups and len(w) % groups == 0
    fits = x.shape[-dims - 1] == inputs
    if not divisible or not fits or (bias is not None and bias.array.shape != (outputs,)):
        biased = "" if bias is None else f" and bias {list(bias.array.shape)}"
        words = f"{groups} groups of {outputs} outputs and {inputs} inputs"
        raise RuntimeError(f"{name}(): input {list(x.shape)}{biased} do not fit weight {list(w.shape)}: {words}")
    if bias is not None and bias.array.dtype != x.dtype:
        raise RuntimeError(f"Input type ({input.dtype}) and bias type ({bias.dtype}) should be the same")
