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

from minitorch_dist.distributed.schedules import powers
from minitorch_dist.distributed.schedules.schedule import schedule, single
from minitorch_dist.distributed.schedules.steps import Exchange, Rank, Receive, Send, Span, Steps


def one_per_rank_and_place(size: int, per_node: int) -> int:
    return size


@schedule(chunks=one_per_rank_and_place, per_node=8)
def reduce_scatter(rank: Rank, size: int, per_node: int = 8) -> Steps:
    """Inside a node, each place collects the chunks of all ranks with its place; then those travel between nodes."""
    places = math.gcd(size, per_node)
    nodes = size // places
    node, place = rank // places, rank % places
    right = node * places + (place + 1) % places
    left = node * places + (place - 1) % places
    for step in range(places - 1):
        out, into = (place - step - 1) % places, (place - step - 2) % places
        yield Exchange(right, _of_place(out, places, nodes), left, _of_place(into, places, nodes), reduce=True)  # fmt: skip
    ahead, behind = (rank + places) % size, (rank - places) % size
    for step in range(nodes - 1):
        out, into = (node - step - 1) % nodes, (node - step - 2) % nodes
        yield Exchange(ahead, out * places + place, behind, into * places + place, reduce=True)


@schedule(chunks=one_per_rank_and_place, per_node=8)
def all_gather(rank: Rank, size: int, per_node: int = 8) -> Steps:
    """The same backwards: between nodes first, while a rank has only its own chunk."""
    places = math.gcd(size, per_node)
    nodes = size // places
    node, place = rank // places, rank % places
    ahead, behind = (rank + places) % size, (rank - places) % size
    for step in range(nodes - 1):
        out, into = (node - step) % nodes, (node - step - 1) % nodes
        yield Exchange(ahead, out * places + place, behind, into * places + place)
    right = node * places + (place + 1) % places
    left = node * places + (place - 1) % places
    for step in range(places - 1):
        out, into = (place - step) % places, (place - step - 1) % places
        yield Exchange(right, _of_place(out, places, nodes), left, _of_place(into, places, nodes))


def _of_place(place: Rank, places: int, nodes: int) -> tuple[Rank, ...]:
    """The chunks of all ranks with this place in their nodes."""
    return tuple(node * places + place for node in range(nodes))


@schedule(chunks=one_per_rank_and_place, per_node=8)
def all_reduce(rank: Rank, size: int, per_node: int = 8) -> Steps:
    """Chunks: `places` groups, one per place in a node, of `nodes` chunks each."""
    places = math.gcd(size, per_node)
    nodes = size // places
    node, place = rank // places, rank % places
    right = node * places + (place + 1) % places
    left = node * places + (place - 1) % places

    def group(of: Rank) -> Span:
        return Span(of % places * nodes, nodes)

    for step in range(places - 1):
        yield Exchange(right, group(place - step - 1), left, group(place - step - 2), reduce=True)

    ahead, behind = (rank + places) % size, (rank - places) % size
    first = place * nodes
    for step in range(nodes - 1):
        out, into = first + (node - step - 1) % nodes, first + (node - step - 2) % nodes
        yield Exchange(ahead, out, behind, into, reduce=True)
    for step in range(nodes - 1):
        yield Exchange(ahead, first + (node - step) % nodes, behind, first + (node - step - 1) % nodes)

    for step in range(places - 1):
        yield Exchange(right, group(place - step), left, group(place - step - 1))


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
