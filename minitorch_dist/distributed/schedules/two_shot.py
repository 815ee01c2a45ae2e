"""Two-shot: everyone adds up one chunk of all ranks' vectors, then everyone takes all chunks.

    rank      0     1     2                     0      1      2
    chunk 0   a0    b0    c0      every rank    a0+…                    every rank
    chunk 1   a1    b1    c1      adds one             …b1…            takes the others
    chunk 2   a2    b2    c2      ────────►                   …+c2     ────────►

                       rounds   bytes a rank sends        total messages
    all_reduce         2(p-1)   2(p-1)/p n                2p(p-1)

As messages it is a ring's worth of bytes, sent pairwise. On a board (see `postings`) it is two events
instead of a ring's 2(p-1), and each byte is put up once. So it is the algorithm of choice where ranks share
memory. Each chunk is added up by one rank, beginning with its own values.

The name is PyTorch's (symmetric memory: `two_shot_all_reduce_`), and TensorRT-LLM's before it. Source
of the two phases: R. Rabenseifner, doi:10.1007/978-3-540-24685-5_1 (there by halving and doubling).
"""

from __future__ import annotations

from minitorch_dist.distributed.schedules import direct
from minitorch_dist.distributed.schedules.schedule import schedule
from minitorch_dist.distributed.schedules.steps import Rank, Steps


@schedule()
def all_reduce(rank: Rank, size: int) -> Steps:
    yield from direct.reduce_scatter(rank, size)
    yield from direct.all_gather(rank, size)
