"""Convolution of large maps by shifted rows: columns along the width, offsets along the height.

The columns of a convolution hold, for each tap (i, j), the image shifted by i rows and j columns. A shift
by whole rows is an offset into the same memory. So only the shifts by columns are laid out, and each
kernel row is one matrix product that starts reading some rows further down:

    line 0 │ a b c │        lines: the image for every tap j and channel, row by row
    line 1 │ d e f │        kernel row 0 multiplies lines 0 1 2
    line 2 │ g h i │        kernel row 1            lines 1 2 3
    line 3 │ k l m │        kernel row 2            lines 2 3 4 …  and their results are added up

KW copies of the image serve KH·KW taps. One image at a time, so that its lines stay in the cache.
"""

from __future__ import annotations

import numpy as np

from minitorch_dist.tensors.core.base import Array
from minitorch_dist.tensors.ops.images.sliding import Axis, overlap, seen

FEW = 32  # terms of one kernel row (KW·C), up to which one product takes all kernel rows


class ShiftedRows:
    """The columns of one image, laid out along the width only, with rows of zeros for the padding.

    With a stride of s the padded rows are sorted by their number modulo s, so that the rows that
    one tap visits are neighbours. Where a product per kernel row would have too few terms, the parts
    that the taps read are copied under one another, for one product.
    """

    def __init__(self, x: Array, rows: Axis, columns: Axis) -> None:
        self.rows, self.columns = rows, columns
        starts = [divmod(i * rows.dilation, rows.stride) for i in range(rows.kernel)]
        self.height = max(first for first, _ in starts) + rows.out  # rows of each residue
        shape = (columns.kernel, x.shape[1], rows.stride * self.height, columns.out)
        self.array = np.zeros(shape, x.dtype, like=x)
        terms, length = columns.kernel * x.shape[1], rows.out * columns.out
        flat = self.array.reshape(terms, -1)
        offsets = [(residue * self.height + first) * columns.out for first, residue in starts]
        self.taps = [flat[:, offset : offset + length] for offset in offsets]
        self.joined: Array | None = None
        if terms <= FEW and rows.kernel > 1:  # 16 more columns: rows a power of 2 apart share cache lines
            self.joined = np.empty((rows.kernel * terms, length + 16), x.dtype, like=x)[:, :length]

    def load(self, image: Array) -> list[Array]:
        """The matrices (KW·C, H·W), one per kernel row; or joined, a single one (KH·KW·C, H·W)."""
        rows, columns = self.rows, self.columns
        for residue in range(rows.stride):
            there, ih = overlap(rows.size, self.height, rows.stride, residue - rows.padding)
            there = slice(there.start + residue * self.height, there.stop + residue * self.height)
            for j in range(columns.kernel):
                ow, iw = seen(columns, j)
                self.array[j, :, there, ow] = image[:, ih, iw]
        if self.joined is None:
            return self.taps
        np.concatenate(self.taps, out=self.joined)
        return [self.joined]

    def matrices(self, w: Array) -> Array:
        """The weights in the order of `load`."""
        if self.joined is None:
            return w.transpose(2, 0, 3, 1).reshape(self.rows.kernel, len(w), -1)
        return w.transpose(0, 2, 3, 1).reshape(1, len(w), -1)


def correlate(x: Array, w: Array, rows: Axis, columns: Axis, out: Array) -> None:
    lines = ShiftedRows(x, rows, columns)
    matrices = lines.matrices(w)
    out = out.reshape(len(x), len(w), rows.out * columns.out)
    part = np.empty(out.shape[1:], x.dtype, like=x)
    for image, result in zip(x, out, strict=True):
        read = lines.load(image)
        np.matmul(matrices[0], read[0], out=result)
        for i in range(1, len(read)):
            np.matmul(matrices[i], read[i], out=part)
            result += part


def weight_gradient(g: Array, x: Array, w: Array, rows: Axis, columns: Axis) -> Array:
    lines = ShiftedRows(x, rows, columns)
    matrices = 1 if lines.joined is not None else rows.kernel
    total = np.zeros((matrices, w[0].size // matrices, len(w)), g.dtype, like=g)
    part = np.empty(total.shape[1:], g.dtype, like=g)
    for image, grad in zip(x, g.reshape(len(g), len(w), rows.out * columns.out), strict=True):
        for gradient, read in zip(total, lines.load(image), strict=True):
            gradient += np.matmul(read, grad.T, out=part)
    total = total.reshape(rows.kernel, columns.kernel, x.shape[1], len(w))
    return np.ascontiguousarray(total.transpose(3, 2, 0, 1), like=total)
