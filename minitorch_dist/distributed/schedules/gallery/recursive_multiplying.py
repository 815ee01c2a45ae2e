"""Recursive multiplying: in each round a rank swaps its vector with k-1 others, so that p has log k as many rounds.

    size 9, k = 3      0 1 2    3 4 5    6 7 8      round 1: within threes of distance 1
                       0 3 6    1 4 7    2 5 8      round 2: of distance 3

Recursive doubling is k = 2. A larger k pays where a message is long on the wire and short at the port. There the k-1
messages of a round follow each other, and they are on the wire together. A
bill lets each exchange end before the next one begins, so it tells nothing of this, and `auto` does not weigh it.

    p = k^m       rounds of the wire    messages of a rank    bytes a rank sends    scratch
    all_reduce    m                     m(k-1)                m(k-1) n              k n

For any number of ranks: p is cut into factors of at most `radix` where it has such, else into its prime factors. The vectors
of a group are added in the same order on all of its ranks, so all have the same bits.

Source: M. Ruefenacht, M. Bull, S. Booth, Generalisation of recursive doubling for AllReduce: now with simulation,
Parallel Computing 69, 2017, doi:10.1016/j.parco.2017.08.004.
"""

from __future__ import annotations

from minitorch_dist.distributed.schedules.schedule import schedule, single
from minitorch_dist.distributed.schedules.steps import Combine, Exchange, Rank, Steps


def factors(size: int, radix: int) -> list[int]:
    """Of 24 with the radix 4: 4, 3, 2. Of 7: 7, which is a prime number."""
    found = []
    while size > 1:
        small = [one for one in range(2, min(size, radix) + 1) if size % one == 0]
        found.append(small[-1] if small else next(one for one in range(2, size + 1) if size % one == 0))
        size //= found[-1]
    return found


@schedule(chunks=lambda size, radix: single(size), radix=4)
def all_reduce(rank: Rank, size: int, radix: int = 4) -> Steps:
    """Chunk 0 is the vector; in scratch there is one for each rank of a group, at 1 + its place."""
    apart = 1
    for many in factors(size, radix):
        place = rank // apart % many
        first = rank - place * apart
        yield Combine(into=1 + place, of=0, reduce=False)
        for step in range(1, many):
            to, source = (place + step) % many, (place - step) % many
            yield Exchange(first + to * apart, 0, first + source * apart, 1 + source)
        for other in range(many):
            yield Combine(into=0, of=1 + other, reduce=other > 0)
        apart *= many
