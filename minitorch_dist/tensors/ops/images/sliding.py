"""A kernel slides over an image: which outputs see which inputs, as slices.

Along one axis, tap `k` of the kernel joins output `o` with input `i = o * stride + k * dilation - padding`.
For a fixed tap that is one slice of the outputs and one of the inputs. So convolution, pooling and
`unfold` are loops over the few taps, each a whole-array operation; nothing is gathered by index.

    stride 2, padding 1          input    .  0  1  2  3  4  .
                                 tap 0:   0     1     2        outputs 1, 2 see inputs 1, 3
                                 tap 1:      0     1     2     outputs 0, 1, 2 see inputs 0, 2, 4
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np

from minitorch_dist.tensors.core.base import Array

Overlap = tuple[slice, slice]
Sizes: TypeAlias = "int | Sequence[int]"


class Axis(NamedTuple):
    """One axis of the image: sizes, and how the kernel moves along it."""

    size: int
    out: int
    kernel: int
    stride: int = 1
    padding: int = 0  # before the first input; negative: the first inputs are never seen
    dilation: int = 1


@lru_cache(4096)
def overlap(size: int, out: int, stride: int, offset: int) -> Overlap:
    """The outputs `o` whose input `o * stride + offset` exists, and these inputs."""
    first = max(0, -(offset // stride))
    last = min(out, (size - 1 - offset) // stride + 1)
    if last <= first:
        return slice(0, 0), slice(0, 0)
    start = first * stride + offset
    return slice(first, last), slice(start, start + (last - first - 1) * stride + 1, stride)


def seen(axis: Axis, tap: int) -> Overlap:
    """The outputs that see an input through `tap`, and these inputs."""
    return overlap(axis.size, axis.out, axis.stride, tap * axis.dilation - axis.padding)


def taps(rows: Axis, columns: Axis) -> Iterator[tuple[int, int, Overlap, Overlap]]:
    """Each position (i, j) in the kernel with what is seen through it, along both axes."""
    for i, j in itertools.product(range(rows.kernel), range(columns.kernel)):
        yield i, j, seen(rows, i), seen(columns, j)


def per_axis(value: Sizes, dims: int, name: str, least: int) -> tuple[int, ...]:
    """An argument that is one number for all axes, or one per axis."""
    found = (value,) if isinstance(value, (int, np.integer)) else tuple(value)
    if not all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) for n in found):
        raise TypeError(f"{name} must be an int or one int per axis, got {value!r}")
    if len(found) == 1:
        found *= dims
    if len(found) != dims:
        raise RuntimeError(f"expected {name} to be one int, or {dims} of them, but got {list(found)}")
    if min(found) < least:
        sign = "non-positive" if least else "negative"
        raise RuntimeError(f"{sign} {name} is not supported: {name}={list(found)}")
    return tuple(int(n) for n in found)


# ------------------------------------------------------------------------ images to columns and back


def im2col(x: Array, rows: Axis, columns: Axis, out: Array | None = None) -> Array:
    """The window that each output sees: (N, C, H, W) becomes (N, C, kernel, kernel, out, out); padding is 0.

    `out` may be a window with any strides; it must hold zeros where the padding is seen.
    """
    if out is None:
        out = np.zeros((*x.shape[:2], rows.kernel, columns.kernel, rows.out, columns.out), x.dtype, like=x)
    for i, j, (oh, ih), (ow, iw) in taps(rows, columns):
        out[:, :, i, j, oh, ow] = x[:, :, ih, iw]
    return out


def col2im(cols: Array, rows: Axis, columns: Axis, out: Array | None = None) -> Array:
    """The reverse of `im2col`: add up, for every input, all places where it was seen."""
    if out is None:
        out = np.zeros((*cols.shape[:2], rows.size, columns.size), cols.dtype, like=cols)
    for i, j, (oh, ih), (ow, iw) in taps(rows, columns):
        out[:, :, ih, iw] += cols[:, :, i, j, oh, ow]
    return out
