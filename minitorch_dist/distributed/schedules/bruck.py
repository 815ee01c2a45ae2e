"""Bruck: ⌈lg p⌉ rounds for any number of ranks, by going round the circle in growing strides.

    all_gather, size 5: the blocks of rank 0          all_to_all: a block for the rank at distance d
        own      0                                    goes 1, 2, 4 … further in the rounds of the
        from 1   01            1 block                bits that d has
        from 2   0123          2 blocks                    d = 5 = 101₂:   +1, stay, +4
        from 4   01234         the 1 that is missing

                   rounds     bytes a rank sends            total messages
    all_gather     ⌈lg p⌉     (p-1)/p n                     p⌈lg p⌉
    all_to_all     ⌈lg p⌉     Σ popcount(d)/p n  (d < p)    p⌈lg p⌉

all_gather is optimal in both; all_to_all buys few rounds with blocks that travel several times, so
it is for short ones. Blocks here keep their numbers, which saves the paper's rotations.

Source: J. Bruck, C.-T. Ho, S. Kipnis, E. Upfal, D. Weathersby, Efficient algorithms for all-to-all
communications in multiport message-passing systems, IEEE TPDS 8(11), 1997, doi:10.1109/71.642949.
"""

from __future__ import annotations

from minitorch_dist.distributed.schedules import powers
from minitorch_dist.distributed.schedules.schedule import schedule
from minitorch_dist.distributed.schedules.steps import Exchange, Rank, Span, Steps


@schedule()
def all_gather(rank: Rank, size: int) -> Steps:
    for stride in powers.distances(size):
        count = min(stride, size - stride)
        source = (rank + stride) % size
        yield Exchange(to=(rank - stride) % size, send=Span(rank, count), source=source, receive=Span(source, count))


@schedule(chunks=lambda size: size * size)
def all_to_all(rank: Rank, size: int) -> Steps:
    for stride in powers.distances(size):
        source = (rank - stride) % size
        far = [distance for distance in range(size) if distance & stride]
        yield Exchange(
            to=(rank + stride) % size,
            send=tuple(_block_at(rank, distance, stride, size) for distance in far),
            source=source,
            receive=tuple(_block_at(source, distance, stride, size) for distance in far),
        )


def _block_at(rank: Rank, distance: int, stride: int, size: int) -> Rank:
    """The block with this way to go in all which is at `rank` before the round of `stride`.

    It has gone the lower bits of its distance already, so it began that much to the left.
    """
    began = (rank - distance % stride) % size
    return began * size + (began + distance) % size
