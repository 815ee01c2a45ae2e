"""P1: what a rank holds under ZeRO's stages: table 1, read from the ledger of a simulated device.

Mixed-precision Adam keeps 2 bytes a parameter for float16 weights, 2 for gradients, and 12 for the
float32 weights and two moments. Each stage cuts one more of them into N parts. Every number here is
what the ledger counts after a step that N ranks have really taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import minitorch_dist as torch
from minitorch_dist import distributed as dist
from minitorch_dist.cuda import ledger
from minitorch_dist.sim.runner import run
from minitorch_dist.tensors.tensor import Tensor
from mtd.papers.paper import Row, published_rows

PARAMETERS = 15_360  # divisible by all numbers of ranks
STAGES = ("Pos", "Pos+g", "Pos+g+p")


class ZeroAdam:
    """Adam in mixed precision, of which each rank keeps parts: see `stage`."""

    def __init__(self, stage: int, size: int) -> None:
        self.stage, self.size = stage, size
        self.part = PARAMETERS // size
        self.weights = self._zeros(torch.float16, is_cut=stage >= 3)
        self.gradient = self._zeros(torch.float16, is_cut=stage >= 2)
        self.master, self.mean, self.square = (self._zeros(torch.float32, True) for _ in range(3))

    def _zeros(self, dtype: torch.dtype, is_cut: bool) -> Tensor:
        count = self.part if is_cut else PARAMETERS
        return torch.zeros(count, dtype=dtype, device="cuda:0")

    def step(self, whole_gradient: Any) -> None:
        mine = slice(dist.get_rank() * self.part, (dist.get_rank() + 1) * self.part)
        shard = self.gradient if self.stage >= 2 else self.gradient[mine].clone()
        dist.reduce_scatter_tensor(shard, whole_gradient)
        if self.stage < 2:
            self.gradient[mine] = shard
        grad = shard.float()
        self.mean.mul_(0.9).add_(grad, alpha=0.1)
        self.square.mul_(0.999).addcmul_(grad, grad, value=0.001)
        self.master.addcdiv_(self.mean, self.square.sqrt() + 1e-8, value=-0.01)
        if self.stage >= 3:
            self.weights.copy_(self.master)
        else:
            dist.all_gather_into_tensor(self.weights, self.master.half())


def held(stage: int) -> float:
    """Bytes for each parameter that this rank holds after a step."""
    with torch.cuda.simulated(1, "1GB"):
        size = dist.get_world_size()
        adam = ZeroAdam(stage, size)
        adam.step(torch.ones(PARAMETERS, dtype=torch.float16, device="cuda:0"))
        dist.barrier()  # what this rank has sent may still be on its way to a slower one
        return ledger.of(0).snapshot().live / PARAMETERS


def rows() -> Sequence[Row]:
    found = []
    bytes_of = cache(lambda size, stage: max(run(held, size, (stage,)).results))
    for billions, size, *published in published_rows("zero_memory"):
        for stage, (name, printed) in enumerate(zip(STAGES, published, strict=True), 1):
            digits = 1 if billions > 7.5 else 0.06 if printed >= 1 else 0.006  # of the last one, where it was cut
            what = f"{billions}B, {name}, N={size}"
            found.append(Row(what, printed, billions * bytes_of(size, stage), digits / printed, "GB"))
    return found
