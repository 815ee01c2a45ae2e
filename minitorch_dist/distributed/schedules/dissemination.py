"""Dissemination: a rumour that everyone passes on, 1, 2, 4, … places to the right.

    size 5, who has heard that rank 0 arrived:   0   01   0123   01234

              rounds    bytes    total messages
    barrier   ⌈lg p⌉    0        p⌈lg p⌉

When a rank has heard in the last round, it has, through others, heard of all: nobody leaves before
everybody has come. No rank is special, and no power of two is needed.

Source: D. Hensgen, R. Finkel, U. Manber, Two algorithms for barrier synchronization, International
Journal of Parallel Programming 17(1), 1988, doi:10.1007/BF01379320.
"""

from __future__ import annotations

from minitorch_dist.distributed.schedules import powers
from minitorch_dist.distributed.schedules.schedule import none, schedule
from minitorch_dist.distributed.schedules.steps import Exchange, Rank, Steps


@schedule(chunks=none)
def barrier(rank: Rank, size: int) -> Steps:
    for distance in powers.distances(size):
        yield Exchange(to=(rank + distance) % size, send=(), source=(rank - distance) % size, receive=())
