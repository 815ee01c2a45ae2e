"""What sending beside the computing saves, in virtual time, to the picosecond.

backward       |--layer 4--|--layer 3--|--layer 2--|--layer 1--|
4 buckets                  |==4==|     |==3==|     |==2==|     |==1==|
1 bucket                                                       |==4==3==2==1==|
"""

from __future__ import annotations

from typing import Any

import pytest

import minitorch_dist as mtd
import minitorch_dist.distributed as dist
from minitorch_dist import nn, sim
from minitorch_dist.autograd import Function
from minitorch_dist.nn.parallel import DistributedDataParallel as DDP

LAYERS, SIDE, COMPUTING = 4, 256, 10_000_000_000  # picoseconds of one layer's backward


class Busy(Function):
    """The identity; its backward takes a while."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        sim.compute("10ms")
        return grad


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(mtd.ones(SIDE, SIDE))

    def forward(self, x: Any) -> Any:
        return Busy.apply(x @ self.weight)


def backward_time(cap: float) -> int:
    """Picoseconds of one backward."""
    model = DDP(nn.Sequential(*[Layer() for _ in range(LAYERS)]), bucket_cap_mb=cap)
    x, clock = mtd.ones(1, SIDE), model.process_group.world.clock
    model(x).sum().backward()
    loss = model(x).sum()
    dist.barrier()
    start = clock.now()
    loss.backward()
    return clock.now() - start


@pytest.mark.parametrize("milliseconds", [4, 8])
def test_all_but_the_last_bucket_is_hidden(milliseconds: int) -> None:
    nbytes = SIDE * SIDE * 4  # a pair of ranks sends as many bytes as it has
    rate = nbytes * 1000 // milliseconds
    net = sim.uniform("0s", f"{rate}B/s")
    sending = milliseconds * 1_000_000_000

    def time_of(cap: float) -> int:
        (found,) = set(sim.run(backward_time, 2, (cap,), net=net).results)
        return int(found)

    assert time_of(nbytes / 2**20) == LAYERS * COMPUTING + sending
    assert time_of(1000) == LAYERS * COMPUTING + LAYERS * sending
