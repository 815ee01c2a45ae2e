"""Rails: nodes of G ranks, each of which has a way of its own to the ranks of its place in the other nodes.

    2 nodes of 3      0 1 2        inside a node: a ring
                      │ │ │        between nodes: circulant graphs, in ⌈lg N⌉ rounds on each of the G rails
                      3 4 5

`hierarchical` does the same with rings between the nodes, too, so it takes N-1 rounds there.

    N nodes of G      rounds inside    between       bytes a rank sends between    total messages
    all_reduce        2(G-1)           2⌈lg N⌉       2(N-1)/(GN) n                 2p(G-1) + 2p⌈lg N⌉
    reduce_scatter    G-1              ⌈lg N⌉        (N-1)/(GN) n                  p(G-1) + p⌈lg N⌉
    all_gather        G-1              ⌈lg N⌉        (N-1)/(GN) n                  p(G-1) + p⌈lg N⌉
    all_to_all        G-1              N-1           (N-1)/N n                     p(G-1) + p(N-1)

In an all_to_all a block first goes, inside its node, to the rank with the place of its receiver, and then along this rail. So
there are N-1 long messages between nodes instead of G(N-1) short ones.

Source: the shape is that of `hierarchical`, the rounds those of `circulant`; all_to_all: PXN in NCCL 2.12 (K. Shukla, NVIDIA, 2022).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from minitorch_dist.distributed.schedules import ring
from minitorch_dist.distributed.schedules.gallery import circulant
from minitorch_dist.distributed.schedules.schedule import schedule
from minitorch_dist.distributed.schedules.steps import Chunks, Exchange, Rank, Span, Step, Steps


class Rail:
    """A rank's place, and its steps inside the node and along its rail."""

    def __init__(self, rank: Rank, size: int, per_node: int) -> None:
        self.places = math.gcd(size, per_node)
        self.nodes = size // self.places
        self.node, self.place = rank // self.places, rank % self.places

    def rank_at(self, node: Rank, place: Rank) -> Rank:
        return node * self.places + place

    def inside(self, steps: Iterable[Step], chunks: Callable[[Rank], Chunks]) -> Steps:
        """Steps of a ring among the places of the node; its chunk stands for `chunks` of ours."""
        return moved(steps, lambda place: self.rank_at(self.node, place), chunks)

    def along(self, steps: Iterable[Step], chunk: Callable[[Rank], Rank]) -> Steps:
        """Steps among the nodes; each chunk of a span is one of ours."""

        def each(span: Span) -> Chunks:
            return tuple(chunk((span.start + more) % self.nodes) for more in range(span.count))

        return moved(steps, lambda node: self.rank_at(node, self.place), each)


def moved(steps: Iterable[Step], rank_of: Callable[[Rank], Rank], chunks_of: Callable[[Chunks], Chunks]) -> Steps:
    """The exchanges of a group as those of its ranks in the world."""
    for step in steps:
        assert isinstance(step, Exchange)
        yield Exchange(
            rank_of(step.to), chunks_of(step.send), rank_of(step.source), chunks_of(step.receive), step.reduce
        )


def one_per_rank(size: int, per_node: int) -> int:
    return size


@schedule(chunks=one_per_rank, per_node=8)
def all_reduce(rank: Rank, size: int, per_node: int = 8) -> Steps:
    """Chunks: `places` groups of `nodes` chunks each."""
    rail = Rail(rank, size, per_node)

    def group(place: Rank) -> Chunks:
        return Span(place * rail.nodes, rail.nodes)

    def of_group(node: Rank) -> Rank:
        return rail.place * rail.nodes + node

    yield from rail.inside(ring.reduce_scatter(rail.place, rail.places), group)
    yield from rail.along(circulant.reduce_scatter(rail.node, rail.nodes), of_group)
    yield from rail.along(circulant.all_gather(rail.node, rail.nodes), of_group)
    yield from rail.inside(ring.all_gather(rail.place, rail.places), group)


@schedule(chunks=one_per_rank, per_node=8)
def reduce_scatter(rank: Rank, size: int, per_node: int = 8) -> Steps:
    rail = Rail(rank, size, per_node)
    yield from rail.inside(
        ring.reduce_scatter(rail.place, rail.places),
        lambda place: tuple(rail.rank_at(node, place) for node in range(rail.nodes)),
    )
    yield from rail.along(circulant.reduce_scatter(rail.node, rail.nodes), lambda node: rail.rank_at(node, rail.place))


@schedule(chunks=one_per_rank, per_node=8)
def all_gather(rank: Rank, size: int, per_node: int = 8) -> Steps:
    rail = Rail(rank, size, per_node)
    yield from rail.along(circulant.all_gather(rail.node, rail.nodes), lambda node: rail.rank_at(node, rail.place))
    yield from rail.inside(
        ring.all_gather(rail.place, rail.places),
        lambda place: tuple(rail.rank_at(node, place) for node in range(rail.nodes)),
    )


@schedule(chunks=lambda size, per_node: size * size, per_node=8)
def all_to_all(rank: Rank, size: int, per_node: int = 8) -> Steps:
    rail = Rail(rank, size, per_node)
    places, nodes, node, place = rail.places, rail.nodes, rail.node, rail.place
    for step in range(1, places):
        to, source = (place + step) % places, (place - step) % places
        there, here = rail.rank_at(node, to), rail.rank_at(node, source)
        yield Exchange(
            there,
            tuple(rank * size + rail.rank_at(far, to) for far in range(nodes)),
            here,
            tuple(here * size + rail.rank_at(far, place) for far in range(nodes)),
        )
    for step in range(1, nodes):
        to, source = rail.rank_at((node + step) % nodes, place), (node - step) % nodes
        yield Exchange(
            to,
            tuple(rail.rank_at(node, near) * size + to for near in range(places)),
            rail.rank_at(source, place),
            tuple(rail.rank_at(source, near) * size + rank for near in range(places)),
        )
