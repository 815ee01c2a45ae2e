"""Where each parameter lies in a unit's flat vector, and which part of it a rank keeps.

    parameters    │ weight (2×3)  │bias│   │
    flat          │0 1 2 3 4 5    │6 7 │pad│          padded to a multiple of the number of ranks
    shards        │ rank 0  │ rank 1  │ rank 2 │       equal pieces, cut without regard to borders

The flat vector exists so that a unit is gathered and reduced in one message, with equal parts for
all. Pure arithmetic, without an array in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple


class Piece(NamedTuple):
    """What one rank has of one parameter."""

    start: int  # in the parameter, counted in elements
    stop: int
    offset: int  # where it begins in the rank's shard

    @property
    def length(self) -> int:
        return self.stop - self.start


class Layout:
    """Parameters of these shapes, one after another, cut into `ranks` equal shards."""

    def __init__(self, shapes: Sequence[tuple[int, ...]], ranks: int) -> None:
        self.shapes, self.ranks = [tuple(shape) for shape in shapes], ranks
        self.counts = [prod(shape) for shape in self.shapes]
        self.starts = [sum(self.counts[:number]) for number in range(len(self.counts))]
        self.total = sum(self.counts)
        self.shard = -(-self.total // ranks)
        self.padded = self.shard * ranks

    def span(self, number: int) -> slice:
        """Where the parameter lies in the flat vector."""
        return slice(self.starts[number], self.starts[number] + self.counts[number])

    def piece(self, number: int, rank: int) -> Piece:
        """What `rank` has of the parameter; perhaps nothing."""
        first, last = rank * self.shard, (rank + 1) * self.shard
        begin, end = self.starts[number], self.starts[number] + self.counts[number]
        start, stop = max(first, begin), min(last, end)
        if start >= stop:
            return Piece(0, 0, 0)
        return Piece(start - begin, stop - begin, start - first)

    def __repr__(self) -> str:
        return (
            f"<Layout of {len(self.shapes)} parameters, {self.total} elements: "
            f"{self.ranks} shards of {self.shard}>"
        )
