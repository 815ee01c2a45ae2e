"""The windows of an image as columns of a matrix, and columns added up to an image again.

Convolution is a matrix product with these columns (see `correlation` for how it avoids making them).
`unfold` copies each pixel once per window that sees it; `fold` is its transpose, so each is the
other's gradient.
"""

from __future__ import annotations

from minitorch_dist.tensors.core.base import Array, T
from minitorch_dist.tensors.core.graph import record
from minitorch_dist.tensors.ops.images.sliding import Axis, Sizes, col2im, im2col, per_axis


def unfold(
    input: T, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1
) -> T:
    """(N, C, H, W) to (N, C · kernel, windows), or the same without N."""
    x = input.array
    if x.ndim not in (3, 4) or 0 in x.shape[1:]:
        kind = IndexError if x.ndim < 3 else RuntimeError
        raise kind(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero "
            f"dimensions for input, but got: {list(x.shape)}"
        )
    images = x if x.ndim == 4 else x[None]
    axes = _axes(images.shape[2:], kernel_size, dilation, padding, stride)
    if min(axis.out for axis in axes) < 1:
        raise RuntimeError(
            f"Given input with spatial size {images.shape[2:]}, {_settings(axes)}, calculated shape "
            f"of the array of sliding blocks as {tuple(max(0, a.out) for a in axes)}, but its "
            "components must be at least one."
        )
    shape, (count, channels) = x.shape, images.shape[:2]
    cols = im2col(images, *axes)
    kernel, windows = _counts(axes)
    out = cols.reshape(count, channels * kernel, windows)

    def fold_back(grad: Array) -> Array:
        return col2im(_apart(grad, count, channels, axes), *axes).reshape(shape)

    return record(out if x.ndim == 4 else out[0], "Im2ColBackward0", (input, fold_back))


def fold(
    input: T,
    output_size: Sizes,
    kernel_size: Sizes,
    dilation: Sizes = 1,
    padding: Sizes = 0,
    stride: Sizes = 1,
) -> T:
    """(N, C · kernel, windows) to (N, C, H, W); where windows overlap, they add up."""
    x = input.array
    if x.ndim not in (2, 3) or 0 in x.shape[-2:]:
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and "
            f"non-zero dimensions for input, but got: {list(x.shape)}"
        )
    size = per_axis(output_size, 2, "output_size", 1)
    axes = _axes(size, kernel_size, dilation, padding, stride)
    kernel, windows = _counts(axes)
    if x.shape[-2] % kernel:
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, "
            f"but got input.size(1)={x.shape[-2]} and kernel_size={tuple(a.kernel for a in axes)}."
        )
    if x.shape[-1] != windows or min(axis.out for axis in axes) < 1:
        rows, columns = (max(0, axis.out) for axis in axes)
        raise RuntimeError(
            f"Given output_size={size}, {_settings(axes)}, stride={tuple(a.stride for a in axes)}, "
            "expected size of input's dimension 2 to match the calculated number of sliding blocks "
            f"{rows} * {columns} = {rows * columns}, but got input.size(2)={x.shape[-1]}."
        )
    shape, channels = x.shape, x.shape[-2] // kernel
    count = len(x) if x.ndim == 3 else 1
    out = col2im(_apart(x, count, channels, axes), *axes)

    def unfold_again(grad: Array) -> Array:
        return im2col(grad.reshape(count, channels, *size), *axes).reshape(shape)

    return record(out if x.ndim == 3 else out[0], "Col2ImBackward0", (input, unfold_again))


def _axes(
    size: tuple[int, ...], kernel: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes
) -> tuple[Axis, Axis]:
    """Height and width, and how the windows move along them."""
    kernels = per_axis(kernel, 2, "kernel_size", 1)
    spreads = per_axis(dilation, 2, "dilation", 1)
    borders = per_axis(padding, 2, "padding", 0)
    steps = per_axis(stride, 2, "stride", 1)
    rows, columns = (
        Axis(n, (n + 2 * p - d * (k - 1) - 1) // s + 1, k, s, p, d)
        for n, k, d, p, s in zip(size, kernels, spreads, borders, steps, strict=True)
    )
    return rows, columns


def _counts(axes: tuple[Axis, Axis]) -> tuple[int, int]:
    """Places in the kernel, and windows."""
    rows, columns = axes
    return rows.kernel * columns.kernel, rows.out * columns.out


def _apart(cols: Array, count: int, channels: int, axes: tuple[Axis, Axis]) -> Array:
    rows, columns = axes
    return cols.reshape(count, channels, rows.kernel, columns.kernel, rows.out, columns.out)


def _settings(axes: tuple[Axis, Axis]) -> str:
    return (
        f"kernel_size={tuple(a.kernel for a in axes)}, dilation={tuple(a.dilation for a in axes)}, "
        f"padding={tuple(a.padding for a in axes)}"
    )
