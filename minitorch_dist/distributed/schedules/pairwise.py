"""Pairwise exchange: in every step the ranks form pairs, and each pair swaps.

    size 4, partner = rank xor step      step 1   0 ◄─► 1   2 ◄─► 3
                                         step 2   0 ◄─► 2   1 ◄─► 3
                                         step 3   0 ◄─► 3   1 ◄─► 2

Where the number of ranks is no power of two there are no such pairs; then a rank sends to the one
`step` to the right and receives from the one `step` to the left, as in `direct`.

                      rounds    bytes a rank sends    total messages
    all_to_all        p-1       (p-1)/p n             p(p-1)
    all_gather        p-1       (p-1)/p n             p(p-1)
    reduce_scatter    p-1       (p-1)/p n             p(p-1)

Every chunk travels once, straight to where it belongs.

Source: R. Thakur, R. Rabenseifner, W. Gropp, IJHPCA 19(1), 2005, doi:10.1177/1094342005051521.
"""

from __future__ import annotations

from minitorch_dist.distributed.schedules import powers
from minitorch_dist.distributed.schedules.direct import block
from minitorch_dist.distributed.schedules.schedule import schedule
from minitorch_dist.distributed.schedules.steps import Exchange, Rank, Steps


def partners(rank: Rank, size: int, step: int) -> tuple[Rank, Rank]:
    """To whom and from whom."""
    if powers.is_power(size):
        return rank ^ step, rank ^ step
    return (rank + step) % size, (rank - step) % size


@schedule(chunks=lambda size: size * size)
def all_to_all(rank: Rank, size: int) -> Steps:
    for step in range(1, size):
        to, source = partners(rank, size, step)
        yield Exchange(to=to, send=block(rank, to, size), source=source, receive=block(source, rank, size))


@schedule()
def all_gather(rank: Rank, size: int) -> Steps:
    for step in range(1, size):
        to, source = partners(rank, size, step)
        yield Exchange(to=to, send=rank, source=source, receive=source)


@schedule()
def reduce_scatter(rank: Rank, size: int) -> Steps:
    for step in range(1, size):
        to, source = partners(rank, size, step)
        yield Exchange(to=to, send=to, source=source, receive=rank, reduce=True)
