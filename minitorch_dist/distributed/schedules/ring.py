"""Ring: chunks travel round a circle of neighbours, every link busy in every step.

    reduce_scatter, size 4: what rank 0 holds, · raw, + partly added, █ complete

         step          0            1            2
       sends chunk     3            2            1
       receives chunk  2            1            0
       afterwards      ··+·         ·++·         █++·

Chunk j starts at rank j+1, is added to by j+2, j+3, … and is complete at rank j. That is the order of addition,
over any transport. all_gather sends the complete chunks on round the ring.

                       rounds    bytes a rank sends    total messages
    reduce_scatter     p-1       (p-1)/p n             p(p-1)
    all_gather         p-1       (p-1)/p n             p(p-1)
    all_reduce         2(p-1)    2(p-1)/p n            2p(p-1)

No schedule sends fewer bytes; many take fewer rounds. With chunks c[j] of unequal size, rank q sends
2n - c[q] - c[q+1] in an all_reduce.

Source: P. Patarasuk, X. Yuan, Bandwidth optimal all-reduce algorithms for clusters of workstations,
JPDC 69(2), 2009, doi:10.1016/j.jpdc.2008.09.002.
"""

from __future__ import annotations

from minitorch_dist.distributed.schedules.schedule import schedule
from minitorch_dist.distributed.schedules.steps import Exchange, Rank, Steps


@schedule()
def reduce_scatter(rank: Rank, size: int) -> Steps:
    right, left = (rank + 1) % size, (rank - 1) % size
    for step in range(size - 1):
        yield Exchange(
            to=right, send=(rank - step - 1) % size, source=left, receive=(rank - step - 2) % size, reduce=True
        )


@schedule()
def all_gather(rank: Rank, size: int) -> Steps:
    right, left = (rank + 1) % size, (rank - 1) % size
    for step in range(size - 1):
        yield Exchange(to=right, send=(rank - step) % size, source=left, receive=(rank - step - 1) % size)


@schedule()
def all_reduce(rank: Rank, size: int) -> Steps:
    yield from reduce_scatter(rank, size)
    yield from all_gather(rank, size)
