"""Channels dealt out anew: into pixels, out of pixels, among themselves.

pixel_shuffle, r = 2      four channels of H×W        one channel of 2H×2W
                          a a   b b   c c   d d        a b a b
                          a a   b b   c c   d d        c d c d   …
"""

from __future__ import annotations

import math

from minitorch_dist.tensors.core.base import T
from minitorch_dist.tensors.core.graph import record, result
from minitorch_dist.tensors.ops.elementwise.copying import row_major


def pixel_shuffle(input: T, upscale_factor: int) -> T:
    """(*, C·r², H, W) to (*, C, H·r, W·r)."""
    name, r = "pixel_shuffle", upscale_factor
    *rest, channels, height, width = _image(input, name, "upscale_factor", r)
    if channels % (r * r):
        raise RuntimeError(
            f"{name} expects its input's 'channel' dimension to be divisible by the square of "
            f"upscale_factor, but input.size(-3)={channels} is not divisible by {r * r}"
        )
    apart = (math.prod(rest), channels // (r * r), r, r, height, width)
    shape = (*rest, channels // (r * r), height * r, width * r)
    return _dealt(input, "PixelShuffleBackward0", apart, (0, 1, 4, 2, 5, 3), shape)


def pixel_unshuffle(input: T, downscale_factor: int) -> T:
    """(*, C, H·r, W·r) to (*, C·r², H, W)."""
    name, r = "pixel_unshuffle", downscale_factor
    *rest, channels, height, width = _image(input, name, "downscale_factor", r)
    for what, n, place in (("height", height, -2), ("width", width, -1)):
        if n % r:
            raise RuntimeError(
                f"{name} expects {what} to be divisible by downscale_factor, but "
                f"input.size({place})={n} is not divisible by {r}"
            )
    apart = (math.prod(rest), channels, height // r, r, width // r, r)
    shape = (*rest, channels * r * r, height // r, width // r)
    return _dealt(input, "PixelUnshuffleBackward0", apart, (0, 1, 3, 5, 2, 4), shape)


def channel_shuffle(input: T, groups: int) -> T:
    """The channels of (N, C, *) taken in turn from `groups` piles."""
    shape = input.array.shape
    if len(shape) < 3:
        raise RuntimeError(
            f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(shape)}"
        )
    if groups <= 0:
        raise RuntimeError(
            f"Number of groups to divide channels in must be positive. Value of groups:{groups}"
        )
    if shape[1] % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {shape[1]} channels and {groups} "
            "groups."
        )
    apart = (shape[0], groups, shape[1] // groups, math.prod(shape[2:]))
    return _dealt(input, "ChannelShuffleBackward0", apart, (0, 2, 1, 3), shape)


def _image(input: T, name: str, what: str, factor: int) -> tuple[int, ...]:
    shape: tuple[int, ...] = input.array.shape
    if len(shape) < 3:
        raise RuntimeError(
            f"{name} expects input to have at least 3 dimensions, but got input with {len(shape)} "
            "dimension(s)"
        )
    if factor <= 0:
        raise RuntimeError(f"{name} expects a positive {what}, but got {factor}")
    return shape


def _dealt(
    input: T, name: str, apart: tuple[int, ...], order: tuple[int, ...], shape: tuple[int, ...]
) -> T:
    """`input`, taken apart, with the parts in this order, as `shape`."""
    x = input.array
    whole, back = x.shape, tuple(map(order.index, range(len(order))))
    moved = tuple(apart[i] for i in order)
    out = row_major(x.reshape(apart).transpose(order)).reshape(shape)
    if x.dtype.kind in "iub":
        return result(input, out)
    return record(out, name, (input, lambda g: g.reshape(moved).transpose(back).reshape(whole)))
