"""Binomial trees: each rank that has the data passes them on, so their number doubles in every round.

    broadcast, size 8      0 ───────────► 4              round 1
                           0 ─► 2         4 ─► 6         round 2
                           0 ─► 1  2 ─► 3  4 ─► 5  6 ─► 7

reduce and gather run the same tree backwards. The root may be any rank: numbers are then counted
from it round the circle.

                   rounds      bytes a rank sends            total messages
    broadcast      ⌈lg p⌉      n ⌈lg p⌉ at the root          p-1
    reduce         ⌈lg p⌉      n                             p-1
    scatter        ⌈lg p⌉      (p-1)/p n at the root         p-1
    gather         ⌈lg p⌉      ≤ n/2                         p-1
    all_reduce     2⌈lg p⌉     n ⌈lg p⌉ at rank 0            2(p-1)
    barrier        2⌈lg p⌉     0                             2(p-1)

Order of addition: each rank adds its subtrees from the smallest to the largest.

Source: the tree is folklore; for MPI see R. Thakur, R. Rabenseifner, W. Gropp, IJHPCA 19(1), 2005,
doi:10.1177/1094342005051521.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch_dist.distributed.schedules import powers
from minitorch_dist.distributed.schedules.schedule import none, schedule, single
from minitorch_dist.distributed.schedules.steps import Chunks, Rank, Receive, Send, Span, Steps


class _Edge:
    """The edges of length `distance`: each leads from a parent down to the child that far away."""

    def __init__(self, rank: Rank, size: int, root: int, distance: int) -> None:
        number = (rank - root) % size
        self.is_parent = (number % (2 * distance) == 0) & (number + distance < size)
        self.is_child = number % (2 * distance) == distance
        self.parent, self.child = (rank - distance) % size, (rank + distance) % size
        # the child and all below it, as chunks (only read where they are)
        self.below_child = Span(self.child, _subtree(number + distance, distance, size))
        self.below_me = Span(rank, _subtree(number, distance, size))

    def down(self, given: Chunks, taken: Chunks) -> Steps:
        yield Send(to=self.child, chunks=given, only=self.is_parent)
        yield Receive(source=self.parent, chunks=taken, only=self.is_child)

    def up(self, given: Chunks, taken: Chunks, reduce: bool = False) -> Steps:
        yield Send(to=self.parent, chunks=given, only=self.is_child)
        yield Receive(source=self.child, chunks=taken, reduce=reduce, only=self.is_parent)


def _subtree(number: Rank, distance: int, size: int) -> Any:
    """How many ranks stand at and below `number`, which hangs on an edge of length `distance`."""
    return np.maximum(np.minimum(distance, size - number), 0)


@schedule(chunks=single)
def broadcast(rank: Rank, size: int, root: int = 0) -> Steps:
    for distance in reversed(powers.distances(size)):
        yield from _Edge(rank, size, root, distance).down(0, 0)


@schedule(chunks=single)
def reduce(rank: Rank, size: int, root: int = 0) -> Steps:
    for distance in powers.distances(size):
        yield from _Edge(rank, size, root, distance).up(0, 0, reduce=True)


@schedule()
def scatter(rank: Rank, size: int, root: int = 0) -> Steps:
    for distance in reversed(powers.distances(size)):
        edge = _Edge(rank, size, root, distance)
        yield from edge.down(edge.below_child, edge.below_me)


@schedule()
def gather(rank: Rank, size: int, root: int = 0) -> Steps:
    for distance in powers.distances(size):
        edge = _Edge(rank, size, root, distance)
        yield from edge.up(edge.below_me, edge.below_child)


@schedule(chunks=single)
def all_reduce(rank: Rank, size: int) -> Steps:
    yield from reduce(rank, size)
    yield from broadcast(rank, size)


@schedule(chunks=none)
def barrier(rank: Rank, size: int) -> Steps:
    """Up the tree: all below have arrived. Down: everyone has."""
    for distance in powers.distances(size):
        yield from _Edge(rank, size, 0, distance).up((), ())
    for distance in reversed(powers.distances(size)):
        yield from _Edge(rank, size, 0, distance).down((), ())
