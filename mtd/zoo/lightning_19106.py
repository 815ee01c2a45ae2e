"""Each metric is averaged over the ranks, but one rank has logged one more.

Symptom: `log_dict` with keys that differ between ranks hangs at the end of the epoch; with a little
luck two different metrics are averaged with each other instead.
"""

from __future__ import annotations

import minitorch_dist as torch
from minitorch_dist import distributed as dist

PROGRAM = True  # the lines that errors name are those in here
ADDRESS = "https://github.com/Lightning-AI/pytorch-lightning/issues/19106"
RANKS, CULPRITS = 3, (1,)


def average(metrics: dict[str, float]) -> dict[str, float]:
    averaged = {}
    for name, value in sorted(metrics.items()):
        x = torch.tensor([value])
        dist.all_reduce(x, op=dist.ReduceOp.AVG)  # the bug: as often as this rank has keys
        averaged[name] = float(x.item())
    dist.barrier()
    return averaged


def logged() -> dict[str, float]:
    rank = dist.get_rank()
    return {"loss": 1.0, "top1": 0.5} if rank != 1 else {"loss": 1.0, "rare": 0.1, "top1": 0.5}


def hang() -> dict[str, float]:
    return average(logged())


def repaired() -> dict[str, float]:
    """First they agree which keys there are."""
    names: list[list[str]] = [[] for _ in range(dist.get_world_size())]
    mine = logged()
    dist.all_gather_object(names, list(mine))
    return average({name: mine.get(name, 0.0) for some in names for name in some})
