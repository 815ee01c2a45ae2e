"""Where each parameter lies in a unit's flat vector, and which part of it a rank keeps.

    parameters    │ weight (2×3)  │bias│   │
    flat          │0 1 2 3 4 5    │6 7 │pad│          padded to a multiple of the number of ranks
    shards        │ rank 0  │ rank 1  │ rank 2 │       equal pieces, cut without regard to borders

The flat vector exists so that a unit is gathered and reduced in one message, with equal parts for
all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]


class Piece(NamedTuple):
    """The piece of one parameter that one rank has."""

    start: int  # in the parameter, counted in elements
    stop: int
    offset: int  # where it begins in the rank's shard

    @property
    def length(self) -> int:
        return self.stop - self.start


class Layout:
    """Parameters of these shapes, one after another, cut into `ranks` equal shards.

    The gathered vector already is that of the whole parameters: nothing has to be rearranged.
    """

    def __init__(self, shapes: Sequence[tuple[int, ...]], ranks: int) -> None:
        self.shapes, self.ranks = [tuple(shape) for shape in shapes], ranks
        self.counts = [prod(shape) for shape in self.shapes]
        self.starts = [sum(self.counts[:number]) for number in range(len(self.counts))]
        self.spans = [slice(start, start + n) for start, n in zip(self.starts, self.counts, strict=True)]
        self.total = sum(self.counts)
        self.shard = -(-self.total // ranks)
        self.padded = self.shard * ranks

    @property
    def length(self) -> int:
        """Elements of the vector in which the whole parameters lie."""
        return self.padded

    def wholes(self, vector: Array) -> list[Array]:
        """The parameters in that vector."""
        return [vector[span].reshape(shape) for span, shape in zip(self.spans, self.shapes, strict=True)]

    def piece(self, number: int, rank: int) -> Piece:
        """The piece of the parameter that `rank` has; it may be empty."""
        first, last = rank * self.shard, (rank + 1) * self.shard
        begin, end = self.starts[number], self.starts[number] + self.counts[number]
        start, stop = max(first, begin), min(last, end)
        if start >= stop:
            return Piece(0, 0, 0)
        return Piece(start - begin, stop - begin, start - first)

    def shape_of(self, number: int, rank: int) -> tuple[int, ...]:
        """The shape in which a rank sees its piece."""
        return self.shapes[number] if self.ranks == 1 else (self.piece(number, rank).length,)

    def own(self, shard: Array, number: int, rank: int) -> Array:
        """A rank's piece of the parameter, in its shard."""
        piece = self.piece(number, rank)
        return shard[piece.offset : piece.offset + piece.length].reshape(self.shape_of(number, rank))

    def pieces(self, shard: Array, rank: int) -> list[Array]:
        """Those of all parameters."""
        return [self.own(shard, number, rank) for number in range(len(self.shapes))]

    def part(self, whole: Array, rank: int) -> Array:
        """A rank's shard of the whole vector."""
        return whole[rank * self.shard : (rank + 1) * self.shard]

    def room(self, whole: Array) -> Array:
        """The memory into which shards are gathered, to be `joined` into the whole parameters."""
        return whole

    def joined(self, gathered: Array, whole: Array) -> None:
        """Put what was gathered where the whole parameters lie."""

    def divided(self, whole: Array) -> Array:
        """The shards of all ranks one after another: what reduce_scatter takes."""
        return whole


class RowLayout(Layout):
    """Each parameter cut along its first dimension, as DTensors with Shard(0) are.

    A rank's shard is its rows of every parameter, padded to equal size. So the gathered vector is in
    the order of the ranks, with the parameters within each rank's part, and has to be rearranged.
    """

    def __init__(self, shapes: Sequence[tuple[int, ...]], ranks: int) -> None:
        super().__init__(shapes, ranks)
        self.rows = [-(-shape[0] // ranks) if shape else 1 for shape in self.shapes]
        self.widths = [prod(shape[1:]) for shape in self.shapes]
        sizes = [rows * width for rows, width in zip(self.rows, self.widths, strict=True)]
        self.offsets = [sum(sizes[:number]) for number in range(len(sizes))]
        self.shard = sum(sizes)
        self.padded = self.shard * ranks

    @property
    def length(self) -> int:
        return self.total

    def room(self, whole: Array) -> Array:
        return np.empty(self.padded, whole.dtype, like=whole)

    def piece(self, number: int, rank: int) -> Piece:
        count, width = self.counts[number], self.widths[number]
        start = min(rank * self.rows[number] * width, count)
        stop = min((rank + 1) * self.rows[number] * width, count)
        return Piece(start, stop, self.offsets[number])

    def shape_of(self, number: int, rank: int) -> tuple[int, ...]:
        shape = self.shapes[number]
        if not shape:  # a scalar is on the first rank
            return () if rank == 0 else (0,)
        width = self.widths[number]
        length = self.piece(number, rank).length
        return (length // width if width else 0, *shape[1:])

    def part(self, whole: Array, rank: int) -> Array:
        out = np.zeros(self.shard, whole.dtype, like=whole)
        for number in range(len(self.shapes)):
            piece, start = self.piece(number, rank), self.starts[number]
            out[piece.offset : piece.offset + piece.length] = whole[start + piece.start : start + piece.stop]
        return out

    def joined(self, gathered: Array, whole: Array) -> None:
        for theirs, own in self._blocks(gathered, whole):
            own[...] = theirs

    def divided(self, whole: Array) -> Array:
        out = np.zeros(self.padded, whole.dtype, like=whole)
        for theirs, own in self._blocks(out, whole):
            theirs[...] = own
        return out

    def _blocks(self, gathered: Array, whole: Array) -> Iterator[tuple[Array, Array]]:
        """The same elements in both vectors, as views. For each parameter these are the rows of all ranks
        that have as many as the first, at once, and those of the one that has fewer."""
        by_rank = gathered.reshape(self.ranks, self.shard)
        for number, (start, count, at) in enumerate(zip(self.starts, self.counts, self.offsets, strict=True)):
            size = self.rows[number] * self.widths[number]
            full, rest = divmod(count, size) if size else (0, 0)
            middle = start + full * size
            if full:
                yield by_rank[:full, at : at + size], whole[start:middle].reshape(full, size)
            if rest:
                yield by_rank[full, at : at + rest], whole[middle : middle + rest]
