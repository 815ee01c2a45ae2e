"""Rabenseifner: an all_reduce out of recursive halving and, back again, recursive doubling.

    size 4, the chunks of rank 0       halving           doubling
                                    0123 ─► 01 ─► 0   0 ─► 01 ─► 0123
                                      adding up           complete

                            rounds         bytes a rank sends        total messages
    p = 2^k                 2 lg p         2(p-1)/p n                2p lg p
    p = p' + r folded       2⌊lg p⌋+2      ≤ (2(p'-1)/p' + 1) n      2p'⌊lg p⌋ + 2r

As few bytes as the ring in logarithmically many rounds. When folded, two more rounds carry the
whole vector (time: 2⌊lg p⌋+2 rounds and 2(p'-1)/p' n + 2n bytes one after the other).

Source: R. Rabenseifner, Optimization of collective reduction operations, ICCS 2004,
doi:10.1007/978-3-540-24685-5_1.
"""

from __future__ import annotations

from minitorch_dist.distributed.schedules import powers
from minitorch_dist.distributed.schedules.schedule import schedule
from minitorch_dist.distributed.schedules.steps import Exchange, Rank, Span, Steps


def power_below(size: int) -> int:
    return 1 << (size.bit_length() - 1)


@schedule(chunks=power_below)
def all_reduce(rank: Rank, size: int) -> Steps:
    fold = powers.PowerOfTwoFold(rank, size)
    everything = Span(0, fold.power)
    distances = powers.distances(fold.power)
    yield from fold.fold(everything, reduce=True)
    for distance in reversed(distances):
        mine = fold.number & -distance
        partner = fold.rank_of(fold.number ^ distance)
        yield Exchange(
            to=partner,
            send=Span(mine ^ distance, distance),
            source=partner,
            receive=Span(mine, distance),
            reduce=True,
            only=fold.acts,
        )
    for distance in distances:
        mine = fold.number & -distance
        partner = fold.rank_of(fold.number ^ distance)
        yield Exchange(
            to=partner,
            send=Span(mine, distance),
            source=partner,
            receive=Span(mine ^ distance, distance),
            only=fold.acts,
        )
    yield from fold.unfold(everything, everything)
