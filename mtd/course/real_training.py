"""A training of real PyTorch over gloo, and over our wires with a learner's functions: what `mtd bridge 13 --real` runs.

    python -m mtd.course.real_training ORDER

It prints a line of JSON: the losses of each training, and the scene of one step in virtual time. Modules of lessons are
found as everywhere (see `path`), and the ranks are forked (see `real_ranks`).
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any, Final

import torch
import torch._dynamo  # DDP imports it: here once, and not in each rank
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import parallel
from torch.nn.parallel import DistributedDataParallel

import minitorch_dist.pytorch.creation  # noqa: F401 - before the fork
from minitorch_dist.pictures import spacetime
from mtd.course import lab
from mtd.course.real_bridge import RANKS, RealOutcome, RealPart
from mtd.course.real_ranks import on_ranks

STEPS: Final = 6
NET: Final = "sim://?latency=20us&rate=10Gb/s"


# ------------------------------------------------------------------------------- one rank's program


def ddp(steps: int = STEPS) -> list[float]:
    """Real PyTorch's DistributedDataParallel. Each rank begins with weights of its own, and rank 0's count."""
    torch.manual_seed(dist.get_rank())
    return _trained(DistributedDataParallel(_net()), steps)


def fsdp(steps: int = STEPS) -> list[float]:
    """Real PyTorch's fully_shard."""
    torch.manual_seed(0)
    net = _net()
    fully_shard(net, mesh=init_device_mesh("cpu", (dist.get_world_size(),)))
    return _trained(net, steps)


def tensor(steps: int = STEPS) -> list[float]:
    """Real PyTorch's parallelize_module: all ranks take all samples."""
    torch.manual_seed(0)
    net, mesh = _net(9), init_device_mesh("cpu", (dist.get_world_size(),))
    plan = {"0": parallel.ColwiseParallel(), "2": parallel.RowwiseParallel()}
    return _trained(parallel.parallelize_module(net, mesh, plan), steps, shares=1)


def _net(hidden: int = 8) -> Any:
    return nn.Sequential(nn.Linear(6, hidden), nn.Tanh(), nn.Linear(hidden, 3)).to(torch.float64)


def _trained(net: Any, steps: int, shares: int = RANKS) -> list[float]:
    optimizer, losses = torch.optim.SGD(net.parameters(), lr=0.2), []
    for step in range(steps):
        rows = torch.randn(12, 6, generator=torch.Generator().manual_seed(step), dtype=torch.float64)
        optimizer.zero_grad()
        loss = net(rows.chunk(shares)[dist.get_rank() % shares]).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    return losses


TRAININGS: Final[dict[str, Callable[..., list[float]]]] = {"ddp": ddp, "fsdp": fsdp, "tensor": tensor}


# -------------------------------------------------------------------------------------- all ranks


def outcome(order: RealPart) -> RealOutcome:
    torch.set_num_threads(1)
    found = RealOutcome()
    found.gloo, _ = _over("gloo", order.training)
    os.environ.update(order.variables)
    found.own, found.wrong = _over("mtd", order.training)
    _draw(order, found)
    return found


def _over(backend: str, training: str) -> tuple[list[float], str]:
    """The mean losses, or what is wrong."""
    losses, wrong = on_ranks(RANKS, backend, TRAININGS[training])
    return [sum(of_step) / RANKS for of_step in zip(*losses, strict=True)], wrong


def _draw(order: RealPart, found: RealOutcome) -> None:
    """One step of the same training in virtual time: the learner's last messages as a picture."""

    def step() -> None:
        dist.init_process_group("mtd")
        TRAININGS[order.training](1)
        dist.destroy_process_group()

    step.uses_torch = True  # type: ignore[attr-defined]  # `sim.run` does not look into our own modules
    scene = lab.scene(step, RANKS, net=NET)
    arrows = [each for each in scene.arrows if f" {order.module}.py:" in each.text]
    found.messages = len(arrows) // RANKS
    if arrows:
        last = arrows[-2 * RANKS * (RANKS - 1) :]
        window = min(each.departed for each in last), max(each.arrived for each in last)
        drawn = spacetime.draw(replace(scene, arrows=last, spans=[], moments=[]), 78, window=window)
        found.picture = [str(line) for line in drawn.lines]


if __name__ == "__main__":
    result = outcome(RealPart(**json.loads(sys.argv[1])))
    print(json.dumps(asdict(result)), flush=True)
    os._exit(0)
