"""Scatter–all_gather: broadcast a long vector by first cutting it up.

    root 0, size 4       scatter (tree)        all_gather (ring)
        rank 0  0123         0                     0123
        rank 1  ····         1            ─►       0123
        rank 2  ····         2                     0123
        rank 3  ····         3                     0123

                  rounds            bytes a rank sends        total messages
    broadcast     ⌈lg p⌉ + p-1      ≤ 2(p-1)/p n              (p-1) + p(p-1)
    reduce        p-1 + ⌈lg p⌉      ≤ 2(p-1)/p n              p(p-1) + (p-1)

Twice the vector crosses each port, where the binomial tree needs it ⌈lg p⌉ times. A reduce is the mirror
image: reduce_scatter round the ring, then gather up the tree.

Source: M. Barnett, L. Shuler, R. van de Geijn, S. Gupta, D. Payne, J. Watts, Interprocessor
collective communication library (InterCom), SHPCC 1994, doi:10.1109/SHPCC.1994.296665.
"""

from __future__ import annotations

from minitorch_dist.distributed.schedules import binomial, ring
from minitorch_dist.distributed.schedules.schedule import schedule
from minitorch_dist.distributed.schedules.steps import Rank, Steps


@schedule()
def broadcast(rank: Rank, size: int, root: int = 0) -> Steps:
    yield from binomial.scatter(rank, size, root)
    yield from ring.all_gather(rank, size)


@schedule()
def reduce(rank: Rank, size: int, root: int = 0) -> Steps:
    yield from ring.reduce_scatter(rank, size)
    yield from binomial.gather(rank, size, root)
