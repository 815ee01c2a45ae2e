"""A kernel of three rows at half the price.

Four neighbouring outputs of a filter with three taps cost 12 multiplications. Six are enough. Multiply
the polynomials d0 + d1 t + … and w0 + w1 t + w2 t², but not coefficient by coefficient. Take the values of
both at six points (0, 1, -1, 2, -2, ∞), multiply those, and find the product back from them. Read
backwards (transposed), the same three small matrices compute a correlation:

    out = A · ((G · w) ⊙ (B · d))            d: 6 inputs, w: 3 taps, out: 4 outputs

Here this is done along the rows of images: d are six rows of pixels, and B·d are six combinations of them. The sign ⊙
stands for a matrix product over channels and kernel columns. There are six products for four rows of outputs, where
one product per row and tap would be twelve. This saves half of nearly all the work, at three costs. Rows have to be
summed. Errors grow about fivefold, to 2e-6 in float32. An infinite pixel makes everything beside it in six rows
undefined.

    image rows   0 1 2 3 4 5 6 7 8 9
    tile 0      [. . . . . .]                → output rows 0 1 2 3
    tile 1              [. . . . . .]        → output rows 4 5 6 7

A row of a tile ends with the zeros that the next one begins with. So a shift by a kernel column is an
offset into one long line, which is copied at once and not row by row. The last columns of a row then see
parts of the next row; nobody reads their results.

Winograd 1980 (Arithmetic Complexity of Computations, doi:10.1137/1.9781611970364), Lavin & Gray 2015
(arXiv:1509.09308); they do it along both axes. The gradients are these steps transposed: `winograd_gradients`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from minitorch_dist.tensors.core.base import Array
from minitorch_dist.tensors.ops.images.sliding import Axis, Overlap, overlap

B = np.array(
    [
        [4, 0, -5, 0, 1, 0],
        [0, -4, -4, 1, 1, 0],
        [0, 4, -4, -1, 1, 0],
        [0, -2, -1, 2, 1, 0],
        [0, 2, -1, -2, 1, 0],
        [0, 4, 0, -5, 0, 1],
    ]
)
G = np.array([[6, 0, 0], [-4, -4, -4], [-4, 4, -4], [1, 2, 4], [1, -2, 4], [0, 0, 24]]) / 24
A = np.array([[1, 1, 1, 1, 1, 0], [0, 1, -1, 2, -2, 0], [0, 1, 1, 4, 4, 0], [0, 1, -1, 8, -8, 1]])
POINTS, OUTPUTS = 6, 4
CHANNELS = 32  # fewer are not worth the sums
BAND = 5 << 16  # elements of a band's tiles (1.3 MB of float32)


def fits(w: Array, rows: Axis, columns: Axis) -> bool:
    """Whether the kernels w have three rows that move one by one, and channels enough."""
    plain = rows.kernel == 3 and rows.stride == rows.dilation == columns.stride == 1
    return plain and w.shape[1] >= CHANNELS and len(w) >= CHANNELS


class Tiling(NamedTuple):
    """Where the pixels of an image lie in its tiles."""

    tiles: int  # of six image rows and four output rows each
    width: int  # of their rows: the outputs, and the zeros around the pixels
    shifts: list[int]  # by kernel column
    down: list[Overlap]  # for each of the six rows the tiles that have it, and which image rows
    across: Overlap  # which of a tile's columns are pixels, and which pixels
    ends: list[Overlap]  # for each of the four output rows the tiles that have it, and which


def tiling(rows: Axis, columns: Axis) -> Tiling:
    reach = columns.dilation * (columns.kernel - 1)
    after = columns.out + reach - columns.padding - columns.size
    width = columns.out + reach - max(0, min(columns.padding, after, reach))  # not below the outputs
    count = -(-rows.out // OUTPUTS)
    return Tiling(
        count,
        width,
        [j * columns.dilation for j in range(columns.kernel)],
        [overlap(rows.size, count, OUTPUTS, i - rows.padding) for i in range(POINTS)],
        overlap(columns.size, width, 1, -columns.padding),
        [overlap(rows.out, count, OUTPUTS, r) for r in range(OUTPUTS)],
    )


class Tiles:
    """One image as B·d: six matrices (KW·C, tiles·width), one under the other for each kernel column."""

    def __init__(self, x: Array, rows: Axis, columns: Axis) -> None:
        plan, channels = tiling(rows, columns), x.shape[1]
        self.b, length = B.astype(x.dtype), channels * plan.tiles * plan.width
        self.rows = np.zeros((POINTS, channels, plan.tiles, plan.width), x.dtype, like=x)
        left, pixels = plan.across
        self.loads = [
            (self.rows[i][:, there, left], (slice(None), inside, pixels)) for i, (there, inside) in enumerate(plan.down)
        ]
        lines = np.zeros((POINTS, columns.kernel, length), x.dtype, like=x)
        self.points = lines[:, 0]
        self.shifted = [
            (lines[:, j, : length - by], lines[:, 0, by:]) for j, by in enumerate(plan.shifts) if j and by < length
        ]
        self.matrices = lines.reshape(POINTS, columns.kernel * channels, -1)

    def load(self, image: Array) -> Array:
        for place, pixels in self.loads:
            place[...] = image[pixels]
        np.matmul(self.b, flat(self.rows), out=self.points)
        for place, line in self.shifted:
            place[...] = line
        return self.matrices


def bands(channels: int, rows: Axis, columns: Axis) -> Iterator[tuple[Axis, slice, slice]]:
    """Cut tall images, so that a band's tiles stay in the cache.

    Each band comes as an axis of its own, with the rows of pixels that it sees and the rows of outputs that it makes.
    """
    tiles = -(-rows.out // OUTPUTS)
    each = POINTS * columns.kernel * channels * columns.out
    count = max(1, min(tiles, -(-tiles * each // BAND)))
    height = OUTPUTS * -(-tiles // count)
    for first in range(0, rows.out, height):
        after = min(first + height, rows.out)
        top, bottom = first - rows.padding, after + rows.kernel - 1 - rows.padding
        seen = slice(min(max(top, 0), rows.size), min(max(bottom, 0), rows.size))
        band = rows._replace(size=seen.stop - seen.start, out=after - first, padding=max(0, -top))
        yield band, seen, slice(first, after)


def correlate(x: Array, w: Array, rows: Axis, columns: Axis, out: Array) -> None:
    """Correlate the images x (N, C, H, W) with the kernels w (O, C, 3, KW), into `out`."""
    for band, seen, made in bands(x.shape[1], rows, columns):
        _correlate(x[:, :, seen], w, band, columns, out[:, :, made])


def _correlate(x: Array, w: Array, rows: Axis, columns: Axis, out: Array) -> None:
    tiles, plan = Tiles(x, rows, columns), tiling(rows, columns)
    taps = G.astype(x.dtype) @ w.transpose(2, 0, 3, 1).reshape(3, -1)
    taps = taps.reshape(POINTS, len(w), -1)
    products = np.empty((POINTS, len(w), plan.tiles * plan.width), x.dtype, like=x)
    found = np.empty((OUTPUTS, len(w), plan.tiles, plan.width), x.dtype, like=x)
    back = A.astype(x.dtype)
    for image, result in zip(x, out, strict=True):
        np.matmul(taps, tiles.load(image), out=products)
        np.matmul(back, flat(products), out=flat(found))
        for part, (there, lines) in zip(found, plan.ends, strict=True):
            result[:, lines] = part[:, there, : columns.out]


def flat(planes: Array) -> Array:
    return planes.reshape(len(planes), -1)
