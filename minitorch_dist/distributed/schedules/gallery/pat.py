"""PAT, parallel aggregated trees: Bruck's rounds the other way round, so that little goes far and much goes near.

    all_gather, size 5: what rank 0 has           Bruck: 1, 2, 4 blocks over distances 1, 2, 4
        own      0                                PAT:   1, 1, 2 blocks over distances 4, 2, 1
        from 1   0 1         (4 back is 1)
        from 3   0 1 3       (2 back is 3; what that had from 4 back would be 4)
        from 4   0 1 3 4 2

Each block goes down a binomial tree of its own, and blocks that go the same way travel in one message.

                      rounds      bytes a rank sends    total messages
    all_gather        ⌈lg p⌉      (p-1)/p n             p⌈lg p⌉
    reduce_scatter    ⌈lg p⌉      (p-1)/p n             p⌈lg p⌉

For any number of ranks. This is the form with buffers for all blocks; NCCL's falls back to several shorter trees where its
buffers are smaller.

Source: S. Jeaugey, PAT: a new algorithm for all-gather and reduce-scatter operations at scale, 2025, arXiv:2506.20252;
NCCL 2.23.
"""

from __future__ import annotations

from minitorch_dist.distributed.schedules import powers
from minitorch_dist.distributed.schedules.schedule import schedule
from minitorch_dist.distributed.schedules.steps import Exchange, Rank, Steps


def carried(first: Rank, size: int, distance: int) -> tuple[Rank, ...]:
    """The blocks which the rank `first` has for the one that is `distance` further: its own, and each second such step back."""
    return tuple((first - back) % size for back in range(0, size - distance, 2 * distance))


@schedule()
def all_gather(rank: Rank, size: int) -> Steps:
    for distance in reversed(powers.distances(size)):
        source = (rank - distance) % size
        yield Exchange((rank + distance) % size, carried(rank, size, distance), source, carried(source, size, distance))


@schedule()
def reduce_scatter(rank: Rank, size: int) -> Steps:
    for distance in powers.distances(size):
        to = (rank - distance) % size
        yield Exchange(
            to, carried(to, size, distance), (rank + distance) % size, carried(rank, size, distance), reduce=True
        )
