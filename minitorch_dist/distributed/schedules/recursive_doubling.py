"""Recursive doubling: everyone swaps all it has, with partners at distance 1, 2, 4, …

    all_reduce, size 4      0 ◄─► 1    2 ◄─► 3        then      0 ◄─► 2    1 ◄─► 3

After k rounds each rank holds the sum of 2^k ranks: the fewest rounds there can be, at the price of
sending everything every time. So it is for short vectors.

                                    rounds        bytes a rank sends   total messages
    all_reduce, p = 2^k             lg p          n lg p               p lg p
    all_reduce, p = p' + r folded   ⌊lg p⌋+2      n (⌊lg p⌋+1)         p'⌊lg p⌋ + 2r
    all_gather, p = 2^k             lg p          (p-1)/p n            p lg p

Both partners of a swap add the same two values, the lower rank's first, so all get the same bits.

Source: R. Thakur, R. Rabenseifner, W. Gropp, Optimization of collective communication operations
in MPICH, IJHPCA 19(1), 2005, doi:10.1177/1094342005051521.
"""

from __future__ import annotations

from minitorch_dist.distributed.schedules import powers
from minitorch_dist.distributed.schedules.schedule import schedule, single
from minitorch_dist.distributed.schedules.steps import Exchange, Rank, Span, Steps


@schedule(chunks=single)
def all_reduce(rank: Rank, size: int) -> Steps:
    fold = powers.PowerOfTwoFold(rank, size)
    yield from fold.fold(0, reduce=True)
    for distance in powers.distances(fold.power):
        partner = fold.rank_of(fold.number ^ distance)
        yield Exchange(to=partner, send=0, source=partner, receive=0, reduce=True, only=fold.acts)
    yield from fold.unfold(0, 0)


@schedule()
def all_gather(rank: Rank, size: int) -> Steps:
    fold = powers.PowerOfTwoFold(rank, size)
    yield from fold.fold_each()
    for distance in powers.distances(fold.power):
        mine = fold.number & -distance
        theirs = mine ^ distance
        partner = fold.rank_of(fold.number ^ distance)
        yield Exchange(
            to=partner,
            send=fold.span(mine, distance),
            source=partner,
            receive=fold.span(theirs, distance),
            only=fold.acts,
        )
    everything = Span(0, size)
    yield from fold.unfold(everything, everything)
