"""A kernel of three rows at half the price.

Four neighbouring outputs of a filter with three taps cost 12 multiplications. Six are enough. Multiply
the polynomials d0 + d1 t + … and w0 + w1 t + w2 t²: rather than coefficient by coefficient, take the values
of both at six points (0, 1, -1, 2, -2, ∞), multiply those, and find the product back from them. Read
backwards (transposed), the same three small matrices compute a correlation:

    out = A · ((G · w) ⊙ (B · d))            d: 6 inputs, w: 3 taps, out: 4 outputs

Here this is done along the rows of images. d are six rows of pixels, B·d six combinations of them, and ⊙
stands for a matrix product over channels and kernel columns: six products for four rows of
outputs, where one product per row and tap would be twelve. What is saved is half of nearly all the
work; what is paid are sums of rows, a few digits (errors grow about fivefold: 2e-6 in float32), and that an
infinite pixel makes its neighbours in six rows undefined.

    image rows   0 1 2 3 4 5 6 7 8 9
    tile 0      [. . . . . .]                → output rows 0 1 2 3
    tile 1              [. . . . . .]        → output rows 4 5 6 7

Winograd 1980 (Arithmetic Complexity of Computations, doi:10.1137/1.9781611970364), Lavin & Gray 2015
(arXiv:1509.09308), who do it along both axes. On one core (64 channels, 32×32): 2.4 ms, where shifted
rows take 3.5 and torch 3.1.
"""

from __future__ import annotations

import numpy as np

from minitorch_dist.tensors.base import Array
from minitorch_dist.tensors.ops.sliding import Axis, overlap, seen

B = np.array([[4, 0, -5, 0, 1, 0], [0, -4, -4, 1, 1, 0], [0, 4, -4, -1, 1, 0],
              [0, -2, -1, 2, 1, 0], [0, 2, -1, -2, 1, 0], [0, 4, 0, -5, 0, 1]])  # fmt: skip
G = np.array([[6, 0, 0], [-4, -4, -4], [-4, 4, -4], [1, 2, 4], [1, -2, 4], [0, 0, 24]]) / 24
A = np.array([[1, 1, 1, 1, 1, 0], [0, 1, -1, 2, -2, 0], [0, 1, 1, 4, 4, 0], [0, 1, -1, 8, -8, 1]])
POINTS, OUTPUTS = 6, 4
CHANNELS = 32  # fewer are not worth the sums


def fits(w: Array, rows: Axis) -> bool:
    """Whether the kernels w have three rows that move one by one, and channels enough."""
    plain = rows.kernel == 3 and rows.stride == rows.dilation == 1
    return plain and w.shape[1] >= CHANNELS and len(w) >= CHANNELS


class Tiles:
    """One image as B·d: six matrices (KW·C, tiles·W), columns laid out along the width."""

    def __init__(self, x: Array, rows: Axis, columns: Axis) -> None:
        channels, width, kind = x.shape[1], columns.size, x.dtype
        self.count = -(-rows.out // OUTPUTS)
        self.b, self.columns = B.astype(kind), columns
        high = OUTPUTS * self.count + 2
        self.padded = np.zeros((channels, high, width), kind)
        self.there, self.inside = overlap(rows.size, high, 1, -rows.padding)
        self.rows = np.empty((POINTS, channels, self.count, width), kind)
        self.points = np.empty_like(self.rows)
        self.array = np.zeros((POINTS, columns.kernel, channels, self.count, columns.out), kind)

    def load(self, image: Array) -> Array:
        self.padded[:, self.there] = image[:, self.inside]
        for i in range(POINTS):
            self.rows[i] = self.padded[:, i : i + OUTPUTS * self.count - 3 : OUTPUTS]
        np.matmul(self.b, _flat(self.rows), out=_flat(self.points))
        for j in range(self.columns.kernel):
            ow, iw = seen(self.columns, j)
            self.array[:, j, :, :, ow] = self.points[:, :, :, iw]
        kernel, channels = self.array.shape[1:3]
        return self.array.reshape(POINTS, kernel * channels, -1)


def correlate(x: Array, w: Array, rows: Axis, columns: Axis, out: Array) -> None:
    """Correlate the images x (N, C, H, W) with the kernels w (O, C, 3, KW), into `out`."""
    tiles = Tiles(x, rows, columns)
    taps = G.astype(x.dtype) @ w.transpose(2, 0, 3, 1).reshape(3, -1)
    taps = taps.reshape(POINTS, len(w), -1)
    products = np.empty((POINTS, len(w), tiles.count * columns.out), x.dtype)
    found = np.empty((OUTPUTS, len(w), tiles.count, columns.out), x.dtype)
    back = A.astype(x.dtype)
    for image, result in zip(x, out, strict=True):
        np.matmul(taps, tiles.load(image), out=products)
        np.matmul(back, _flat(products), out=_flat(found))
        for r in range(OUTPUTS):
            rest = result[:, r::OUTPUTS]
            rest[...] = found[r, :, : rest.shape[1]]


def weight_gradient(g: Array, x: Array, w: Array, rows: Axis, columns: Axis) -> Array:
    """The gradient of the kernels: each of the three steps transposed, in reverse."""
    tiles, outputs = Tiles(x, rows, columns), _Outputs(g, rows)
    total = np.zeros((POINTS, columns.kernel * x.shape[1], len(w)), x.dtype)
    part = np.empty_like(total)
    for image, grad in zip(x, g, strict=True):
        total += np.matmul(tiles.load(image), outputs.load(grad).swapaxes(1, 2), out=part)
    found = (G.T.astype(x.dtype) @ _flat(total)).reshape(3, columns.kernel, x.shape[1], len(w))
    return np.ascontiguousarray(found.transpose(3, 2, 0, 1))


def input_gradient(g: Array, w: Array, rows: Axis, columns: Axis) -> Array:
    """The gradient of the images. Correlating with the turned kernel gives the same; this here is
    quicker where there are more output channels than input channels: it lays out neither."""
    (outputs, channels), kind = w.shape[:2], g.dtype
    given = _Outputs(g, rows)
    shape = (columns.kernel, channels, given.count)
    taps = G.astype(kind) @ w.transpose(2, 3, 1, 0).reshape(3, -1)
    taps = taps.reshape(POINTS, columns.kernel * channels, outputs)
    seen_by = np.empty((POINTS, *shape, columns.out), kind)
    points = np.empty((POINTS, *shape[1:], columns.size), kind)
    pixels, back = np.empty_like(points), np.ascontiguousarray(B.T.astype(kind))
    padded = np.empty((channels, OUTPUTS * given.count + 2, columns.size), kind)
    there, inside = overlap(rows.size, padded.shape[1], 1, -rows.padding)
    out = np.zeros((len(g), channels, rows.size, columns.size), kind)
    for grad, result in zip(g, out, strict=True):
        flat = seen_by.reshape(POINTS, columns.kernel * channels, -1)
        np.matmul(taps, given.load(grad), out=flat)
        points.fill(0)
        for j in range(columns.kernel):
            ow, iw = seen(columns, j)
            points[..., iw] += seen_by[:, j, :, :, ow]
        np.matmul(back, _flat(points), out=_flat(pixels))
        padded.fill(0)
        for i in range(POINTS):  # neighbouring tiles share two rows
            padded[:, i : i + OUTPUTS * given.count - 3 : OUTPUTS] += pixels[i]
        result[:, inside] = padded[:, there]
    return out


class _Outputs:
    """The gradient of one image's output as Aᵀ·g: six matrices (O, tiles·W)."""

    def __init__(self, g: Array, rows: Axis) -> None:
        self.count = -(-rows.out // OUTPUTS)
        self.rows = np.zeros((OUTPUTS, g.shape[1], self.count, g.shape[3]), g.dtype)
        self.array = np.empty((POINTS, g.shape[1], self.count * g.shape[3]), g.dtype)
        self.a = np.ascontiguousarray(A.T.astype(g.dtype))

    def load(self, grad: Array) -> Array:
        for r in range(OUTPUTS):
            some = grad[:, r::OUTPUTS]
            self.rows[r, :, : some.shape[1]] = some
        np.matmul(self.a, _flat(self.rows), out=_flat(self.array))
        return self.array


def _flat(planes: Array) -> Array:
    return planes.reshape(len(planes), -1)
