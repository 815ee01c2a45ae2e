"""Channels dealt out as pixels.

pixel_shuffle, r = 2      four channels of H×W        one channel of 2H×2W

                          a a   b b   c c   d d        a b a b
                          a a   b b   c c   d d        c d c d   …
"""

from __future__ import annotations

from minitorch_dist.tensors.core.base import T
from minitorch_dist.tensors.core.graph import record
from minitorch_dist.tensors.ops.elementwise.copying import row_major


def pixel_shuffle(input: T, upscale_factor: int) -> T:
    """(*, C·r², H, W) to (*, C, H·r, W·r)."""
    x, r = input.array, upscale_factor
    if x.ndim < 3 or r < 1 or x.shape[-3] % (r * r):
        raise RuntimeError(f"pixel_shuffle: {r}² does not divide the channels, dimension -3 of {list(x.shape)}")
    *rest, channels, height, width = x.shape
    n = len(rest)
    apart = (*rest, channels // (r * r), r, r, height, width)
    order = (*range(n + 1), n + 3, n + 1, n + 4, n + 2)
    back = tuple(map(order.index, range(len(order))))
    moved = row_major(x.reshape(apart).transpose(order))
    whole, dealt = x.shape, moved.shape
    return record(
        moved.reshape(*rest, channels // (r * r), height * r, width * r),
        "PixelShuffleBackward0",
        (input, lambda g: g.reshape(dealt).transpose(back).reshape(whole)),
    )
