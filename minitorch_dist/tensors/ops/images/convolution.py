"""Convolution layers: the checks, the geometry, and the gradients. The arithmetic is in `correlation`.

A 1-d convolution is a 2-d one on images of height 1. A transposed convolution is the input gradient
of a convolution, used as a layer. It maps (N, out, …) back to (N, in, …), and its own
input gradient is the convolution. Nothing but the input and the weights is kept for the backward pass.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from minitorch_dist.tensors import dtypes, flops
from minitorch_dist.tensors.autograd.joint import record_joint, wants
from minitorch_dist.tensors.core.base import Array, T, TensorBase
from minitorch_dist.tensors.core.graph import Gradient
from minitorch_dist.tensors.core.without_warnings import silent
from minitorch_dist.tensors.ops import autocasting
from minitorch_dist.tensors.ops.elementwise.copying import row_major
from minitorch_dist.tensors.ops.images import grouped
from minitorch_dist.tensors.ops.images.sliding import Axis, Sizes, per_axis


@autocasting.lower
def conv1d(
    input: T, weight: T, bias: T | None = None, stride: Sizes = 1, padding: Sizes | str = 0,
    dilation: Sizes = 1, groups: int = 1,
) -> T:  # fmt: skip
    """Slide kernels (O, C / groups, K) over sequences (N, C, L) or (C, L)."""
    return _convolve(1, input, weight, bias, stride, padding, dilation, groups)


@autocasting.lower
def conv2d(
    input: T, weight: T, bias: T | None = None, stride: Sizes = 1, padding: Sizes | str = 0,
    dilation: Sizes = 1, groups: int = 1,
) -> T:  # fmt: skip
    """Slide kernels (O, C / groups, KH, KW) over images (N, C, H, W) or (C, H, W).

    `padding` is a number of zeros on both sides (or one per axis), "valid" (none), or "same" (as
    many as keep the size; of an odd number the right side gets one more).
    """
    return _convolve(2, input, weight, bias, stride, padding, dilation, groups)


@autocasting.lower
def conv_transpose1d(
    input: T, weight: T, bias: T | None = None, stride: Sizes = 1, padding: Sizes = 0,
    output_padding: Sizes = 0, groups: int = 1, dilation: Sizes = 1,
) -> T:  # fmt: skip
    """The gradient of conv1d with respect to its input, as a layer; weight is (C, O / groups, K)."""
    return _convolve_transposed(
        1, input, weight, bias, stride, padding, output_padding, groups, dilation
    )


@autocasting.lower
def conv_transpose2d(
    input: T, weight: T, bias: T | None = None, stride: Sizes = 1, padding: Sizes = 0,
    output_padding: Sizes = 0, groups: int = 1, dilation: Sizes = 1,
) -> T:  # fmt: skip
    """The gradient of conv2d with respect to its input, as a layer; weight is (C, O / groups, KH, KW).

    Several input sizes of a strided convolution give the same output size; `output_padding`
    chooses among them by adding rows and columns at the end.
    """
    return _convolve_transposed(
        2, input, weight, bias, stride, padding, output_padding, groups, dilation
    )


# ------------------------------------------------------------------------------------------- layers


@silent
def _convolve(
    dims: int, input: T, weight: T, bias: T | None, stride: Sizes, padding: Sizes | str,
    dilation: Sizes, groups: int,
) -> T:  # fmt: skip
    _check(f"conv{dims}d", dims, input, weight, bias, groups, transposed=False)
    steps = per_axis(stride, dims, "stride", 1)
    spread = per_axis(dilation, dims, "dilation", 1)
    size, kernel = input.array.shape[-dims:], weight.array.shape[2:]
    before, after = sides(padding, kernel, steps, spread)
    padded = [n + a + b for n, a, b in zip(size, before, after, strict=True)]
    reach = [d * (k - 1) + 1 for d, k in zip(spread, kernel, strict=True)]
    if any(r > n for r, n in zip(reach, padded, strict=True)):
        raise RuntimeError(
            f"Calculated padded input size per channel: ({_times(padded)}). Kernel size: "
            f"({_times(reach)}). Kernel size can't be greater than actual input size"
        )
    axes = [
        Axis(size[k], (padded[k] - reach[k]) // steps[k] + 1, kernel[k], steps[k], before[k], spread[k])
        for k in range(dims)
    ]  # fmt: skip
    rows, columns = axes if dims == 2 else (Axis(1, 1, 1), axes[0])

    x, w = input.array, weight.array
    source, dtype = x.shape, x.dtype
    images, kernels = _images(x, dims), _kernels(w)
    offset = None if bias is None else _working(bias.array)
    out = grouped.correlate(images, kernels, rows, columns, offset, groups)
    operations = 2 * len(images) * rows.out * columns.out * w.size
    if flops.counters.on:
        flops.done("aten.convolution", operations)
    wanted = wants(input, weight, bias)
    inputs = [input, weight] if bias is None else [input, weight, bias]
    count = len(inputs)
    del images, kernels

    def backward(g: Array) -> list[Gradient]:
        g = _images(g, dims)
        if flops.counters.on:
            flops.done("aten.convolution_backward", (wanted[0] + wanted[1]) * operations)
        dx = dw = db = None
        if wanted[2]:
            db = _sum_channels(g).astype(dtype, copy=False)
        if wanted[0] and wanted[1]:
            images, kernels = _images(x, dims), _kernels(w)
            dx, dw = grouped.gradients(g, images, kernels, rows, columns, groups)
        elif wanted[1]:
            images, kernels = _images(x, dims), _kernels(w)
            dw = grouped.weight_gradient(g, images, kernels, rows, columns, groups)
        elif wanted[0]:
            dx = grouped.input_gradient(g, _kernels(w), rows, columns, groups)
        if dx is not None:
            dx = dx.reshape(source).astype(dtype, copy=False)
        if dw is not None:
            dw = dw.reshape(w.shape).astype(dtype, copy=False)
        return [dx, dw, db][:count]

    shape = (*source[: -dims - 1], len(weight.array), *(axis.out for axis in axes))
    out = out.reshape(shape).astype(dtype, copy=False)
    return record_joint(out, "ConvolutionBackward0", inputs, backward, (input, weight), owns=True)


@silent
def _convolve_transposed(
    dims: int, input: T, weight: T, bias: T | None, stride: Sizes, padding: Sizes,
    output_padding: Sizes, groups: int, dilation: Sizes,
) -> T:  # fmt: skip
    _check(f"conv_transpose{dims}d", dims, input, weight, bias, groups, transposed=True)
    steps = per_axis(stride, dims, "stride", 1)
    before = per_axis(padding, dims, "padding", 0)
    extra = per_axis(output_padding, dims, "output_padding", 0)
    spread = per_axis(dilation, dims, "dilation", 1)
    if any(e >= max(s, d) for e, s, d in zip(extra, steps, spread, strict=True)):
        raise RuntimeError(
            "output padding must be smaller than either stride or dilation, but got output_padding "
            f"{extra}, stride {steps}, dilation {spread}"
        )
    size, kernel = input.array.shape[-dims:], weight.array.shape[2:]
    made = [
        (size[k] - 1) * steps[k] - 2 * before[k] + spread[k] * (kernel[k] - 1) + extra[k] + 1
        for k in range(dims)
    ]
    if min(made) < 1:
        raise RuntimeError(
            f"Given input size per channel: ({_times(size)}). Calculated output size per channel: "
            f"({_times(made)}). Output size is too small"
        )
    axes = [Axis(made[k], size[k], kernel[k], steps[k], before[k], spread[k]) for k in range(dims)]
    rows, columns = axes if dims == 2 else (Axis(1, 1, 1), axes[0])

    x, w = input.array, weight.array
    source, dtype = x.shape, x.dtype
    images, kernels = _images(x, dims), _kernels(w)
    out = grouped.input_gradient(images, kernels, rows, columns, groups)
    operations = 2 * len(images) * rows.out * columns.out * w.size
    if flops.counters.on:
        flops.done("aten.convolution", operations)
    if bias is not None:
        out += _working(bias.array)[:, None, None]
    wanted = wants(input, weight, bias)
    inputs = [input, weight] if bias is None else [input, weight, bias]
    count = len(inputs)
    del images, kernels

    def backward(g: Array) -> list[Gradient]:
        g = _images(g, dims)
        if flops.counters.on:
            flops.done("aten.convolution_backward", (wanted[0] + wanted[1]) * operations)
        dx = dw = db = None
        if wanted[2]:
            db = _sum_channels(g).astype(dtype, copy=False)
        if wanted[1]:
            images, kernels = _images(x, dims), _kernels(w)
            dw = grouped.weight_gradient(images, g, kernels, rows, columns, groups)
            dw = dw.reshape(w.shape).astype(dtype, copy=False)
        if wanted[0]:
            dx = grouped.correlate(g, _kernels(w), rows, columns, None, groups)
            dx = dx.reshape(source).astype(dtype, copy=False)
        return [dx, dw, db][:count]

    out = out.reshape((*source[: -dims - 1], out.shape[1], *made)).astype(dtype, copy=False)
    return record_joint(out, "ConvolutionBackward0", inputs, backward, (input, weight), owns=True)


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


def _times(sizes: Sequence[int]) -> str:
    return " x ".join(str(n) for n in sizes)


def _check(
    name: str, dims: int, input: TensorBase, weight: TensorBase, bias: TensorBase | None,
    groups: int, transposed: bool,
) -> None:  # fmt: skip
    for what, tensor in (("input", input), ("weight", weight)):
        if not isinstance(tensor, TensorBase):
            raise TypeError(f"{name}(): {what} must be a Tensor, not {type(tensor).__name__}")
    x, w = input.array, weight.array
    if x.ndim not in (dims + 1, dims + 2):
        raise RuntimeError(
            f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to {name}, but got "
            f"input of size: {list(x.shape)}"
        )
    if w.ndim != dims + 2:
        raise RuntimeError(
            f"{name} expects a weight of {dims + 2} dimensions, but got one of size {list(w.shape)}"
        )
    if x.dtype != w.dtype:
        raise RuntimeError(f"expected scalar type {input.dtype} but found {weight.dtype}")
    if x.dtype.kind == "b":
        raise NotImplementedError(f"{name} is not implemented for bool tensors")
    if groups < 1:
        raise RuntimeError("non-positive groups is not supported")
    given = f"Given groups={groups}" + (", transposed=1" if transposed else "")
    if len(w) < groups:
        raise RuntimeError(
            f"{given}, expected weight to be at least {groups} at dimension 0, but got weight of "
            f"size {list(w.shape)} instead"
        )
    if len(w) % groups:
        raise RuntimeError(
            f"{given}, expected weight to be divisible by {groups} at dimension 0, but got weight "
            f"of size [{list(w.shape)}] instead"
        )
    channels = len(w) if transposed else w.shape[1] * groups
    if x.shape[-dims - 1] != channels:
        raise RuntimeError(
            f"{given}, weight of size {list(w.shape)}, expected input{list(x.shape)} to have "
            f"{channels} channels, but got {x.shape[-dims - 1]} channels instead"
        )
    if bias is None:
        return
    outputs = w.shape[1] * groups if transposed else len(w)
    if bias.array.shape != (outputs,):
        raise RuntimeError(
            f"{given}, weight of size {list(w.shape)}, expected bias to be 1-dimensional with "
            f"{outputs} elements, but got bias of size {list(bias.array.shape)} instead"
        )
    if bias.array.dtype != x.dtype:
        raise RuntimeError(
            f"Input type ({input.dtype}) and bias type ({bias.dtype}) should be the same"
        )
