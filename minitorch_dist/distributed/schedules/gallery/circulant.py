"""Circulant graphs: ⌈lg p⌉ rounds and the fewest bytes for any number of ranks, by halving the circle, rounded up.

    reduce_scatter, size 5: skips 5, 3, 2, 1; the chunks of rank 0, counted from its own round the circle

        at first      0 1 2 3 4
        skip 3        0 1 2           3 4 went to rank 3; what rank 2 had for 0 1 came and was added
        skip 2        0 1             2 went to rank 2; 0 came from rank 3
        skip 1        0               1 went to rank 1; 0 came from rank 4

all_gather goes the same way back. No ranks are folded, so nothing is sent twice where p is no power of two.

                      rounds      bytes a rank sends    total messages
    reduce_scatter    ⌈lg p⌉      (p-1)/p n             p⌈lg p⌉
    all_gather        ⌈lg p⌉      (p-1)/p n             p⌈lg p⌉
    all_reduce        2⌈lg p⌉     2(p-1)/p n            2p⌈lg p⌉

Source: J. L. Träff, Optimal, non-pipelined reduce-scatter and allreduce algorithms, 2024, arXiv:2410.14234.
"""

from __future__ import annotations

from itertools import pairwise

from minitorch_dist.distributed.schedules.schedule import schedule
from minitorch_dist.distributed.schedules.steps import Exchange, Rank, Span, Steps


def skips(size: int) -> list[int]:
    """p, ⌈p/2⌉, ⌈p/4⌉, …, 1."""
    found = [size]
    while found[-1] > 1:
        found.append((found[-1] + 1) // 2)
    return found


@schedule()
def reduce_scatter(rank: Rank, size: int) -> Steps:
    for wide, near in pairwise(skips(size)):
        to, count = (rank + near) % size, wide - near
        yield Exchange(to, Span(to, count), (rank - near) % size, Span(rank, count), reduce=True)


@schedule()
def all_gather(rank: Rank, size: int) -> Steps:
    for near, wide in pairwise(reversed(skips(size))):
        source, count = (rank + near) % size, wide - near
        yield Exchange((rank - near) % size, Span(rank, count), source, Span(source, count))


@schedule()
def all_reduce(rank: Rank, size: int) -> Steps:
    yield from reduce_scatter(rank, size)
    yield from all_gather(rank, size)
