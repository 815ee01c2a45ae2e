"""Hierarchical: first inside each node, over fast links, then between nodes with what is left.

    all_reduce, 2 nodes of 2 ranks, chunks in 2 groups of 2

        node 0   rank 0   0123  ─► 01    ─► 01   ─► 0123      reduce_scatter inside the node,
                 rank 1   0123  ─►   23  ─►   23 ─► 0123      all_reduce among ranks of equal place,
        node 1   rank 2   0123  ─► 01    ─► 01   ─► 0123      all_gather inside the node
                 rank 3   0123  ─►   23  ─►   23 ─► 0123

    N nodes of G    rounds                      bytes a rank sends               total messages
    all_reduce      2(G-1) inside               2(G-1)/G n inside                2p(G-1) + 2p(N-1)
                    + 2(N-1) between            + 2(N-1)/(GN) n between = 2(p-1)/p n
    reduce_scatter  G-1 inside, N-1 between     (G-1)/G n inside                 p(G-1) + p(N-1)
    all_gather                                  + (N-1)/(GN) n between = (p-1)/p n
    broadcast       ⌈lg N⌉ + ⌈lg G⌉             ≤ n (⌈lg N⌉ + ⌈lg G⌉)            p-1

All steps are rings (broadcast: binomial trees). Only 1/G of the vector crosses between nodes per
rank, and still no more bytes are sent than in one large ring. `per_node` counts neighbouring ranks;
where it does not divide the number of ranks, the greatest common divisor is used.

Source: A. Faraj, S. Kumar, B. Smith, A. Mamidala, J. Gunnels, MPI collective communications on the
Blue Gene/P supercomputer, HOTI 2009, doi:10.1109/HOTI.2009.12; NCCL and Horovod use the same shape.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from minitorch_dist.distributed.schedules import powers
from minitorch_dist.distributed.schedules.schedule import schedule, single
from minitorch_dist.distributed.schedules.steps import Chunks, Exchange, Rank, Receive, Send, Span, Steps

Part = Callable[[Rank], Chunks]


def one_per_rank_and_place(size: int, per_node: int) -> int:
    return size


class _Node:
    """Where a rank is: the number of its node, its place there, and its neighbours on the two rings that it is on."""

    def __init__(self, rank: Rank, size: int, per_node: int) -> None:
        self.places = math.gcd(size, per_node)
        self.nodes = size // self.places
        self.node, self.place = rank // self.places, rank % self.places
        first = self.node * self.places
        self.right, self.left = first + (self.place + 1) % self.places, first + (self.place - 1) % self.places
        self.ahead, self.behind = (rank + self.places) % size, (rank - self.places) % size

    def inside(self, part: Part, reduce: bool) -> Steps:
        """A ring of the ranks of this node: `part` is what belongs to a place. With `reduce` it ends with one's own."""
        for step in range(self.places - 1):
            out = self.place - step - reduce
            given, taken = part(out % self.places), part((out - 1) % self.places)
            yield Exchange(self.right, given, self.left, taken, reduce=reduce)

    def between(self, part: Part, reduce: bool) -> Steps:
        """A ring of the ranks at this place in all nodes: `part` is what belongs to a node."""
        for step in range(self.nodes - 1):
            out = self.node - step - reduce
            given, taken = part(out % self.nodes), part((out - 1) % self.nodes)
            yield Exchange(self.ahead, given, self.behind, taken, reduce=reduce)

    def of_place(self, place: Rank) -> tuple[Rank, ...]:
        """The chunks of all ranks with this place in their nodes."""
        return tuple(node * self.places + place for node in range(self.nodes))

    def of_node(self, node: Rank) -> Rank:
        """The chunk of the rank at this place in a node."""
        return node * self.places + self.place


@schedule(chunks=one_per_rank_and_place, per_node=8)
def reduce_scatter(rank: Rank, size: int, per_node: int = 8) -> Steps:
    """Inside a node, each place collects the chunks of all ranks with its place; then those travel between nodes."""
    here = _Node(rank, size, per_node)
    yield from here.inside(here.of_place, reduce=True)
    yield from here.between(here.of_node, reduce=True)


@schedule(chunks=one_per_rank_and_place, per_node=8)
def all_gather(rank: Rank, size: int, per_node: int = 8) -> Steps:
    """The same backwards: between nodes first, while a rank has only its own chunk."""
    here = _Node(rank, size, per_node)
    yield from here.between(here.of_node, reduce=False)
    yield from here.inside(here.of_place, reduce=False)


@schedule(chunks=one_per_rank_and_place, per_node=8)
def all_reduce(rank: Rank, size: int, per_node: int = 8) -> Steps:
    """Chunks: `places` groups, one per place in a node, of `nodes` chunks each."""
    here = _Node(rank, size, per_node)

    def group(place: Rank) -> Span:
        return Span(place * here.nodes, here.nodes)

    def within_group(node: Rank) -> Rank:
        return here.place * here.nodes + node

    yield from here.inside(group, reduce=True)
    yield from here.between(within_group, reduce=True)
    yield from here.between(within_group, reduce=False)
    yield from here.inside(group, reduce=False)


@schedule(chunks=lambda size, per_node: single(size), per_node=8)
def broadcast(rank: Rank, size: int, root: int = 0, per_node: int = 8) -> Steps:
    """A tree among the ranks at the root's place, one per node; then a tree inside each node."""
    places = math.gcd(size, per_node)
    nodes = size // places
    node, place = (rank // places - root // places) % nodes, (rank - root) % places
    for distance in reversed(powers.distances(nodes)):
        parent = (node % (2 * distance) == 0) & (node + distance < nodes) & (place == 0)
        child = (node % (2 * distance) == distance) & (place == 0)
        yield Send((rank + distance * places) % size, 0, only=parent)
        yield Receive((rank - distance * places) % size, 0, only=child)
    first = rank // places * places
    for distance in reversed(powers.distances(places)):
        parent = (place % (2 * distance) == 0) & (place + distance < places)
        child = place % (2 * distance) == distance
        yield Send(first + (rank + distance) % places, 0, only=parent)
        yield Receive(first + (rank - distance) % places, 0, only=child)
