"""The gradients of `winograd`: its three steps transposed, in reverse.

    out = A · ((G · w) ⊙ (B · d))

    to the pixels     Bᵀ · ((G · w)ᵀ ⊙ (Aᵀ · g))
    to the kernels    Gᵀ · ((Aᵀ · g) ⊙ (B · d))

Both begin with Aᵀ · g, the output's gradient at the six points; so they are found together, image by image.
Where one of the two is wanted alone, `correlation` finds it otherwise.
"""

from __future__ import annotations

import numpy as np

from minitorch_dist.tensors.core.base import Array
from minitorch_dist.tensors.ops.fast.winograd import OUTPUTS, POINTS, A, B, G, Tiles, bands, flat, tiling
from minitorch_dist.tensors.ops.images.sliding import Axis


def gradients(g: Array, x: Array, w: Array, rows: Axis, columns: Axis) -> tuple[Array, Array]:
    """Those of the images and of the kernels, in one pass over g."""
    dx, dw = np.zeros(x.shape, g.dtype, like=g), np.zeros(w.shape, g.dtype, like=g)
    for band, seen, made in bands(w.shape[1], rows, columns):
        part, pixels = g[:, :, made], x[:, :, seen]
        outputs, kernels = OutputGradients(part, band, columns), _Kernels(pixels, w, band, columns)
        images = _Images(part, w, band, columns)
        for grad, image, result in zip(part, pixels, dx[:, :, seen], strict=True):
            at_points = outputs.load(grad)
            kernels.add(at_points, image)
            images.add(at_points, result)
        dw += kernels.found()
    return dx, dw


class OutputGradients:
    """The gradient of one image's output as Aᵀ·g: six matrices (O, tiles·width), zeros after each row."""

    def __init__(self, g: Array, rows: Axis, columns: Axis) -> None:
        plan = tiling(rows, columns)
        self.rows = np.zeros((OUTPUTS, g.shape[1], plan.tiles, plan.width), g.dtype, like=g)
        self.loads = [
            (place[:, there, : columns.out], lines) for place, (there, lines) in zip(self.rows, plan.ends, strict=True)
        ]
        self.array = np.empty((POINTS, g.shape[1], plan.tiles * plan.width), g.dtype, like=g)
        self.a = np.ascontiguousarray(A.T.astype(g.dtype))

    def load(self, grad: Array) -> Array:
        for place, lines in self.loads:
            place[...] = grad[:, lines]
        np.matmul(self.a, flat(self.rows), out=flat(self.array))
        return self.array


class _Kernels:
    """Gᵀ · ((Aᵀ · g) ⊙ (B · d)), where ⊙ is summed over the images before Gᵀ is applied."""

    def __init__(self, x: Array, w: Array, rows: Axis, columns: Axis) -> None:
        self.tiles, self.shape = Tiles(x, rows, columns), (3, columns.kernel, x.shape[1], len(w))
        self.total = np.zeros((POINTS, columns.kernel * x.shape[1], len(w)), x.dtype, like=x)
        self.part = np.empty_like(self.total)

    def add(self, at_points: Array, image: Array) -> None:
        given = at_points.swapaxes(1, 2)
        self.total += np.matmul(self.tiles.load(image), given, out=self.part)

    def found(self) -> Array:
        found = (G.T.astype(self.total.dtype) @ flat(self.total)).reshape(self.shape)
        return np.ascontiguousarray(found.transpose(3, 2, 0, 1), like=found)


class _Images:
    """Bᵀ · ((G · w)ᵀ ⊙ (Aᵀ · g)): every step of `winograd.correlate` the other way round."""

    def __init__(self, g: Array, w: Array, rows: Axis, columns: Axis) -> None:
        (outputs, channels), kind, plan = w.shape[:2], g.dtype, tiling(rows, columns)
        taps = G.astype(kind) @ w.transpose(2, 3, 1, 0).reshape(3, -1)
        self.taps = taps.reshape(POINTS, columns.kernel * channels, outputs)
        self.back = np.ascontiguousarray(B.T.astype(kind))
        length = channels * plan.tiles * plan.width
        lines = np.empty((POINTS, columns.kernel, length), kind)
        self.seen_by = lines.reshape(POINTS, columns.kernel * channels, -1)
        self.points = lines[:, 0]
        self.shifted = [
            (lines[:, 0, by:], lines[:, j, : length - by]) for j, by in enumerate(plan.shifts) if j and by < length
        ]
        self.rows = np.empty((POINTS, channels, plan.tiles, plan.width), kind)
        left, self.pixels = plan.across
        self.stores: list[tuple[Array, slice]] = []
        for i, (there, inside) in enumerate(plan.down):
            if i >= OUTPUTS:  # these rows are the next tile's, too, if there is one
                if there.stop < plan.tiles:
                    continue
                there, inside = slice(there.stop - 1, None), slice(inside.stop - 1, inside.stop)
            self.stores.append((self.rows[i][:, there, left], inside))

    def add(self, at_points: Array, image: Array) -> None:
        """Add the gradient of one image, from its output's, to `image`. (Rows between two bands get parts of both.)"""
        np.matmul(self.taps, at_points, out=self.seen_by)
        for place, line in self.shifted:
            place += line
        np.matmul(self.back, self.points, out=flat(self.rows))
        self.rows[: POINTS - OUTPUTS, :, 1:] += self.rows[OUTPUTS:, :, :-1]
        for row, lines in self.stores:
            image[:, lines, self.pixels] += row
