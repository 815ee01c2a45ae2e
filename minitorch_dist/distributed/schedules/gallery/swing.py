"""Swing: halving and doubling whose partners swing to the left and to the right, so that they are nearer on a torus.

    distances of the rounds      1, -1, 3, -5, 11, …: from an even rank; from an odd one the other way round
    recursive halving has        p/2, …, 4, 2, 1

    size 8      0 ↔ 1   2 ↔ 3   4 ↔ 5   6 ↔ 7        round 1
                0 ↔ 7   2 ↔ 1   4 ↔ 3   6 ↔ 5        round 2
                0 ↔ 3   2 ↔ 5   4 ↔ 7   6 ↔ 1        round 3

In each round a rank sends the chunks that its partner will be responsible for, and adds those of its own.

                      rounds     bytes a rank sends    total messages
    reduce_scatter    lg p       (p-1)/p n             p lg p
    all_gather        lg p       (p-1)/p n             p lg p
    all_reduce        2 lg p     2(p-1)/p n            2p lg p

For powers of two. This is the form for one dimension.

Source: D. De Sensi, T. Bonato, D. Saam, T. Hoefler, Swing: short-cutting rings for higher bandwidth allreduce,
NSDI 2024, arXiv:2401.09356.
"""

from __future__ import annotations

from minitorch_dist.distributed.schedules import powers
from minitorch_dist.distributed.schedules.schedule import powers_of_two, schedule
from minitorch_dist.distributed.schedules.steps import Exchange, Rank, Steps


def distance(step: int) -> int:
    """1, -1, 3, -5, 11, …: the sum of the first powers of -2."""
    return int(1 - (-2) ** (step + 1)) // 3


def partner(rank: Rank, size: int, step: int) -> Rank:
    return (rank + (1 - 2 * (rank % 2)) * distance(step)) % size


def kept(rank: Rank, size: int, step: int) -> tuple[Rank, ...]:
    """The chunks that a rank is responsible for before a step: its own after the last, twice as many before each."""
    if step == powers.rounds(size):
        return (rank % size,)
    return kept(rank, size, step + 1) + kept(partner(rank, size, step), size, step + 1)


@schedule(domain=powers_of_two)
def reduce_scatter(rank: Rank, size: int) -> Steps:
    for step in range(powers.rounds(size)):
        peer = partner(rank, size, step)
        mine, theirs = kept(rank, size, step + 1), kept(peer, size, step + 1)
        yield Exchange(peer, theirs, peer, mine, reduce=True)


@schedule(domain=powers_of_two)
def all_gather(rank: Rank, size: int) -> Steps:
    for step in reversed(range(powers.rounds(size))):
        peer = partner(rank, size, step)
        yield Exchange(peer, kept(rank, size, step + 1), peer, kept(peer, size, step + 1))


@schedule(domain=powers_of_two)
def all_reduce(rank: Rank, size: int) -> Steps:
    yield from reduce_scatter(rank, size)
    yield from all_gather(rank, size)
