"""The norm of a pipeline's gradients, as torchtitan finds it: over gloo and on simulated ranks it is that of one rank."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.pipelining import PipelineStage, Schedule1F1B
from torch.distributed.tensor import DTensor

from minitorch_dist import sim
from tests.pytorch.ranks import on_ranks

WIDTH, MICROBATCHES, ROWS = 6, 4, 8


def _model() -> nn.Sequential:
    torch.manual_seed(3)
    return nn.Sequential(*[nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh()) for _ in range(4)])


def _data() -> tuple[torch.Tensor, torch.Tensor]:
    numbers = torch.linspace(-1, 1, 2 * ROWS * WIDTH).reshape(2, ROWS, WIDTH)
    return numbers[0], numbers[1].cos()


def _sum(found: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
    return nn.functional.mse_loss(found, wanted, reduction="sum")


def _norm_of_all(parameters: list[Any], stages: Any) -> torch.Tensor:
    """As torchtitan's `clip_grad_norm_`: first of this stage, and then over the pipeline."""
    total: Any = nn.utils.get_total_norm([each.grad for each in parameters])
    if isinstance(total, DTensor):
        total = total.full_tensor()
    total **= 2.0
    dist.all_reduce(total, op=dist.ReduceOp.SUM, group=stages.get_group())
    return total**0.5  # type: ignore[no-any-return]


def _train(shards: int) -> float:
    if not dist.is_initialized():
        dist.init_process_group("gloo")
    mesh = init_device_mesh("cpu", (2, shards), mesh_dim_names=("stage", "shard"))
    stage, shard = (mesh.get_local_rank(name) for name in ("stage", "shard"))
    part = _model()[2 * stage : 2 * stage + 2]
    if shards > 1:
        fully_shard(part, mesh=mesh["shard"])
    group = mesh["stage"].get_group()
    schedule = Schedule1F1B(
        PipelineStage(part, stage, 2, torch.device("cpu"), group=group), MICROBATCHES, _sum, scale_grads=False
    )
    data, target = (each.chunk(shards)[shard] for each in _data())
    if stage:
        schedule.step(target=target)
    else:
        schedule.step(data)
    return float(_norm_of_all(list(part.parameters()), mesh["stage"]))


def _alone(shards: int) -> float:
    """Of one rank with the whole batch. `fully_shard` takes the average over its ranks."""
    model, (data, target) = _model(), _data()
    (_sum(model(data), target) / shards).backward()
    return float(nn.utils.get_total_norm([each.grad for each in model.parameters() if each.grad is not None]))


@pytest.mark.parametrize("shards", [1, 2])
def test_the_norm_over_a_pipeline_is_gloos_and_that_of_one_rank(shards: int) -> None:
    theirs = on_ranks(_train, 2 * shards, shards, backend="gloo")
    assert theirs == pytest.approx([_alone(shards)] * 2 * shards, rel=1e-5)
    assert sim.run(_train, 2 * shards, (shards,)).results == theirs
