"""Recursive halving: swap the half that the partner will keep, at distance p/2, p/4, …, 1.

    reduce_scatter, size 4: the chunks that rank 0 is responsible for

        at first        0 1 2 3
        distance 2      0 1              2 3 went to rank 2, its 0 1 came and were added
        distance 1      0                1 went to rank 1, its 0 came and was added

                                        rounds       bytes a rank sends    total messages
    reduce_scatter, p = 2^k             lg p         (p-1)/p n             p lg p
    reduce_scatter, p = p' + r folded   ⌊lg p⌋+2     ≤ (p'-1)/p' n + n     p'⌊lg p⌋ + 2r

As few rounds as there can be and, for powers of two, as few bytes.

Source: R. Thakur, R. Rabenseifner, W. Gropp, IJHPCA 19(1), 2005, doi:10.1177/1094342005051521.
"""

from __future__ import annotations

from minitorch_dist.distributed.schedules import powers
from minitorch_dist.distributed.schedules.schedule import schedule
from minitorch_dist.distributed.schedules.steps import Exchange, Rank, Span, Steps


@schedule()
def reduce_scatter(rank: Rank, size: int) -> Steps:
    fold = powers.PowerOfTwoFold(rank, size)
    yield from fold.fold(Span(0, size), reduce=True)
    for distance in reversed(powers.distances(fold.power)):
        mine = fold.number & -distance
        theirs = mine ^ distance
        partner = fold.rank_of(fold.number ^ distance)
        yield Exchange(
            to=partner,
            send=fold.span(theirs, distance),
            source=partner,
            receive=fold.span(mine, distance),
            reduce=True,
            only=fold.acts,
        )
    yield from fold.unfold(rank - 1, rank)
