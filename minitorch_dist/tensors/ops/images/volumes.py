"""Convolution and pooling of volumes (N, C, D, H, W) or (C, D, H, W), by those of images; and pooling undone.

A convolution in three dimensions is a sum over the kernel's depth of convolutions of planes. A pooling window is a box: first
each plane is pooled, then the columns of depth. So gradients, of any order, are those of the parts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from minitorch_dist.tensors.core.graph import result
from minitorch_dist.tensors.ops.images.adaptive_pooling import (
    adaptive_avg_pool2d,
    adaptive_max_pool2d,
)
from minitorch_dist.tensors.ops.images.convolution import conv2d, conv_transpose2d, sides
from minitorch_dist.tensors.ops.images.padding import pad
from minitorch_dist.tensors.ops.images.pooling import avg_pool2d, max_pool2d
from minitorch_dist.tensors.ops.images.sliding import Sizes, per_axis
from minitorch_dist.tensors.shape_arrays.array import has_numbers


def _batch(name: str, input: Any) -> tuple[Any, bool]:
    """The volumes with a batch dimension, and whether they had one."""
    if input.array.ndim not in (4, 5):
        raise RuntimeError(
            f"Expected 4D (unbatched) or 5D (batched) input to {name}, but got input of size: "
            f"{list(input.array.shape)}"
        )
    is_batch = input.array.ndim == 5
    return input if is_batch else input.unsqueeze(0), is_batch


def _planes(x: Any) -> Any:
    """(N, C, D, H, W) as N · D images of C channels."""
    return x.movedim(2, 1).flatten(0, 1)


def _volumes(x: Any, count: int) -> Any:
    """The images of `count` volumes, put together again."""
    return x.unflatten(0, (count, len(x) // count)).movedim(1, 2)


def _with_bias(out: Any, bias: Any, is_batch: bool) -> Any:
    out = out if bias is None else out + bias.reshape(-1, 1, 1, 1)
    return out if is_batch else out[0]


def conv3d(
    input: Any, weight: Any, bias: Any = None, stride: Sizes = 1, padding: Sizes | str = 0,
    dilation: Sizes = 1, groups: int = 1,
) -> Any:  # fmt: skip
    """Slide kernels (O, C / groups, KD, KH, KW) over volumes."""
    x, is_batch = _batch("conv3d", input)
    kernel = weight.array.shape[2:]
    step, wide = per_axis(stride, 3, "stride", 1), per_axis(dilation, 3, "dilation", 1)
    before, after = sides(padding, kernel, step, wide)
    if before != after:
        x = pad(x, [n for both in zip(before[::-1], after[::-1], strict=True) for n in both])
        before = [0, 0, 0]
    deep, *flat = before
    x = pad(x, (0, 0, 0, 0, deep, deep)) if deep else x
    depth = (x.array.shape[2] - wide[0] * (kernel[0] - 1) - 1) // step[0] + 1
    if depth < 1:
        raise RuntimeError(
            f"Calculated padded input size per channel: ({' x '.join(str(n) for n in x.array.shape[2:])}). "
            f"Kernel size: ({' x '.join(str(k) for k in kernel)}). Kernel size can't be greater than actual input size"
        )
    out: Any = 0
    for k in range(kernel[0]):
        first = k * wide[0]
        taken = x[:, :, first : first + step[0] * (depth - 1) + 1 : step[0]]
        out = out + conv2d(_planes(taken), weight[:, :, k], None, step[1:], flat, wide[1:], groups)
    return _with_bias(_volumes(out, len(x)), bias, is_batch)


def conv_transpose3d(
    input: Any, weight: Any, bias: Any = None, stride: Sizes = 1, padding: Sizes = 0,
    output_padding: Sizes = 0, groups: int = 1, dilation: Sizes = 1,
) -> Any:  # fmt: skip
    """The gradient of conv3d with respect to its input, as a layer; weight is (C, O / groups, KD, KH, KW)."""
    x, is_batch = _batch("conv_transpose3d", input)
    kernel, depth = weight.array.shape[2], x.array.shape[2]
    step, wide = per_axis(stride, 3, "stride", 1), per_axis(dilation, 3, "dilation", 1)
    cut, more = per_axis(padding, 3, "padding", 0), per_axis(output_padding, 3, "output_padding", 0)
    whole, planes = step[0] * (depth - 1) + wide[0] * (kernel - 1) + 1 + more[0], _planes(x)
    out: Any = None
    for k in range(kernel):
        part = _volumes(
            conv_transpose2d(planes, weight[:, :, k], None, step[1:], cut[1:], more[1:], groups, wide[1:]), len(x)
        )  # fmt: skip
        if out is None:
            out = part.new_zeros((*part.shape[:2], whole, *part.shape[3:]))
        places = np.arange(depth, like=x.array) * step[0] + k * wide[0]
        out = out.index_add(2, result(x, places), part)
    return _with_bias(out[:, :, cut[0] : whole - cut[0]], bias, is_batch)


# ------------------------------------------------------------------------------------------- pooling


def _columns(x: Any) -> Any:
    """Planes (N · C, D, H, W) as images (D, H · W), one for each."""
    return x.flatten(2)


def _largest(x: Any, pooled: Any, columns: Any, shape: Sequence[int]) -> tuple[Any, Any]:
    """The largest of `pooled` planes along `columns` of depth, and where they stand in (D, H, W)."""
    planes, inside = pooled(x)
    found, at = columns(_columns(planes))
    count, size = len(x), planes.shape[2] * planes.shape[3]
    places = inside.reshape(count, -1).gather(1, at.reshape(count, -1)).reshape(at.shape)
    places = places + at.div(size, rounding_mode="floor") * (x.shape[2] * x.shape[3])
    out = (*shape, found.shape[1], *planes.shape[2:])
    return found.reshape(out), places.reshape(out)


def max_pool3d(
    input: Any, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
    dilation: Sizes = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    """The largest element of each box; with `return_indices` also where it is, as (d · H + h) · W + w."""
    _batch("max_pool3d", input)
    kernel = per_axis(kernel_size, 3, "kernel_size", 1)
    step = kernel if stride is None or stride == [] else per_axis(stride, 3, "stride", 1)
    cut, wide = per_axis(padding, 3, "padding", 0), per_axis(dilation, 3, "dilation", 1)

    def planes(x: Any) -> Any:
        return max_pool2d(x, kernel[1:], step[1:], cut[1:], wide[1:], ceil_mode, True)

    def columns(x: Any) -> Any:
        return max_pool2d(x, (kernel[0], 1), (step[0], 1), (cut[0], 0), (wide[0], 1), ceil_mode, True)  # fmt: skip

    found = _largest(input.flatten(0, -4), planes, columns, input.array.shape[:-3])
    return found if return_indices else found[0]


def avg_pool3d(
    input: Any, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
    ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
) -> Any:  # fmt: skip
    """The mean of each box, as `avg_pool2d` has it."""
    _batch("avg_pool3d", input)
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    kernel = per_axis(kernel_size, 3, "kernel_size", 1)
    step = kernel if stride is None or stride == [] else per_axis(stride, 3, "stride", 1)
    cut = per_axis(padding, 3, "padding", 0)
    first = None if divisor_override is None else 1
    x = avg_pool2d(
        input.flatten(0, -4), kernel[1:], step[1:], cut[1:], ceil_mode, count_include_pad, first
    )
    found: Any = avg_pool2d(
        _columns(x), (kernel[0], 1), (step[0], 1), (cut[0], 0), ceil_mode, count_include_pad, divisor_override
    )  # fmt: skip
    return found.reshape(*input.array.shape[:-3], found.shape[1], *x.shape[2:])


def _sizes(input: Any, output_size: Any) -> list[int]:
    given = [output_size] * 3 if output_size is None or isinstance(output_size, int) else list(output_size)  # fmt: skip
    return [own if n is None else n for n, own in zip(given, input.array.shape[-3:], strict=True)]


def adaptive_avg_pool3d(input: Any, output_size: Any) -> Any:
    """The means of boxes; None keeps the size of that axis."""
    _batch("adaptive_avg_pool3d", input)
    deep, *flat = _sizes(input, output_size)
    x: Any = adaptive_avg_pool2d(input.flatten(0, -4), flat)
    found: Any = adaptive_avg_pool2d(_columns(x), (deep, x.shape[2] * x.shape[3]))
    return found.reshape(*input.array.shape[:-3], deep, *flat)


def adaptive_max_pool3d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """The largest elements of boxes, and where they are."""
    _batch("adaptive_max_pool3d", input)
    deep, *flat = _sizes(input, output_size)
    found = _largest(
        input.flatten(0, -4),
        lambda x: adaptive_max_pool2d(x, flat, True),
        lambda x: adaptive_max_pool2d(x, (deep, math.prod(flat)), True),
        input.array.shape[:-3],
    )
    return found if return_indices else found[0]


# ------------------------------------------------------------------------------------ pooling undone


def _unpool(
    dims: int, input: Any, indices: Any, kernel_size: Sizes, stride: Sizes | None, padding: Sizes,
    output_size: Sequence[int] | None,
) -> Any:  # fmt: skip
    """Zeros, with each element of `input` at its place."""
    kernel = per_axis(kernel_size, dims, "kernel_size", 1)
    step = kernel if stride is None or stride == [] else per_axis(stride, dims, "stride", 1)
    cut = per_axis(padding, dims, "padding", 0)
    front, sizes = input.array.shape[:-dims], input.array.shape[-dims:]
    usual = [(n - 1) * s - 2 * p + k for n, s, p, k in zip(sizes, step, cut, kernel, strict=True)]
    wanted = usual if output_size is None else list(output_size)[-dims:]
    for n, own, s in zip(wanted, usual, step, strict=True):
        if not own - s < n < own + s:
            raise ValueError(
                f"invalid output_size {wanted} (dim 0 must be between {own - s} and {own + s})"
            )
    if input.array.shape != indices.array.shape:
        raise RuntimeError("Expected shape of indices to be the same as that of the input tensor")
    at, size = indices.array, math.prod(wanted)
    if at.size and has_numbers(at) and not (at.min() >= 0 and at.max() < size):
        raise RuntimeError(f"Found an invalid max index: {at.max()} (output volumes are of size {wanted})")  # fmt: skip
    flat = input.new_zeros((*front, size)).scatter(-1, indices.flatten(-dims), input.flatten(-dims))
    return flat.reshape(*front, *wanted)


def max_unpool1d(
    input: Any, indices: Any, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
    output_size: Sequence[int] | None = None,
) -> Any:  # fmt: skip
    """Put the elements back to where `max_pool1d` found them."""
    return _unpool(1, input, indices, kernel_size, stride, padding, output_size)


def max_unpool2d(
    input: Any, indices: Any, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
    output_size: Sequence[int] | None = None,
) -> Any:  # fmt: skip
    """Put the elements back to where `max_pool2d` found them."""
    return _unpool(2, input, indices, kernel_size, stride, padding, output_size)


def max_unpool3d(
    input: Any, indices: Any, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
    output_size: Sequence[int] | None = None,
) -> Any:  # fmt: skip
    """Put the elements back to where `max_pool3d` found them."""
    return _unpool(3, input, indices, kernel_size, stride, padding, output_size)
