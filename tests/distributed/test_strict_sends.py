"""Every send waits for its receive: sharded training and pipelines still end, and with the same numbers."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import minitorch_dist as torch
from minitorch_dist import distributed as dist, nn, sim
from minitorch_dist.distributed import pipelining
from minitorch_dist.distributed.fsdp import BackwardPrefetch, FullyShardedDataParallel, ShardingStrategy, fully_shard
from minitorch_dist.nn.parallel import DistributedDataParallel

LINK = sim.uniform(5_000_000, 1_000)
FREE, STRICT = sim.Network(LINK), sim.Network(LINK, rendezvous=0)
POST, ZERO2 = BackwardPrefetch.BACKWARD_POST, ShardingStrategy.SHARD_GRAD_OP
TWO_STAGES = ["ScheduleInterleaved1F1B", "ScheduleLoopedBFS", "ScheduleInterleavedZeroBubble"]


def in_units(**told: Any) -> nn.Module:
    layers = [FullyShardedDataParallel(nn.Linear(4, 4), **told) for _ in range(3)]
    return FullyShardedDataParallel(nn.Sequential(*layers), **told)


def by_rows() -> nn.Module:
    layers = nn.Sequential(*[nn.Linear(4, 4) for _ in range(3)])
    for layer in layers:
        fully_shard(layer)
    return fully_shard(layers)  # type: ignore[no-any-return]


def in_buckets() -> nn.Module:
    layers = nn.Sequential(*[nn.Linear(4, 4) for _ in range(3)])
    return DistributedDataParallel(layers, bucket_cap_mb=1e-4)


def trained(make: Callable[[], nn.Module]) -> list[float]:
    torch.manual_seed(0)
    model = make()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    inputs, losses = torch.ones(2, 4) * (dist.get_rank() + 1), []
    for _ in range(3):
        optimizer.zero_grad()
        loss = (model(inputs) ** 2).sum()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.item()))
    return losses


def piped(name: str) -> list[float]:
    rank, size, twice = dist.get_rank(), dist.get_world_size(), name in TWO_STAGES
    mine = [rank, rank + size] if twice else [rank]
    count = 2 * size if twice else size
    torch.manual_seed(0)
    layers = [nn.Linear(4, 4) for _ in range(count)]
    stages = [pipelining.PipelineStage(layers[one], one, count, torch.device("cpu")) for one in mine]
    schedule: Any = getattr(pipelining, name)(
        stages if twice else stages[0], n_microbatches=2 * size, loss_fn=nn.MSELoss()
    )
    losses: list[Any] = []
    for _ in range(2):
        given = (torch.ones(4 * size, 4),) if 0 in mine else ()
        last = {"target": torch.zeros(4 * size, 4), "losses": losses} if count - 1 in mine else {}
        schedule.step(*given, **last)
    found = [float(p.grad.sum().item()) for one in mine for p in layers[one].parameters()]  # type: ignore[union-attr]
    return found + [float(loss.item()) for loss in losses]


PROGRAMS = {
    "fsdp": partial(trained, in_units),
    "fsdp, fetched after": partial(trained, partial(in_units, backward_prefetch=POST)),
    "fsdp, fetched ahead": partial(trained, partial(in_units, forward_prefetch=True)),
    "fsdp, whole until backward": partial(trained, partial(in_units, sharding_strategy=ZERO2)),
    "fully_shard": partial(trained, by_rows),
    "ddp": partial(trained, in_buckets),
    **{name: partial(piped, name) for name in ["ScheduleGPipe", "Schedule1F1B", *TWO_STAGES]},
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_waits_for_ever(name: str) -> None:
    for size in (1, 2, 3, 5):
        with warnings.catch_warnings(action="ignore"):
            free, strict = (sim.run(PROGRAMS[name], size, net=net) for net in (FREE, STRICT))
        assert strict.results == free.results
