"""Sharded, cut and staged training in exact mode: P ranks end with one rank's weights, bit for bit."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest

import minitorch_dist.distributed as dist
from minitorch_dist import nn
from minitorch_dist.distributed.device_mesh import init_device_mesh
from minitorch_dist.distributed.fsdp import FullyShardedDataParallel as FSDP, ShardingStrategy, fully_shard
from minitorch_dist.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe
from minitorch_dist.distributed.tensor import DTensor
from minitorch_dist.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from minitorch_dist.launching import launch
from minitorch_dist.optim import SGD
from minitorch_dist.testing import exact

SAMPLES, STEPS, MOMENTUM = 37, 5, 0.5
STRATEGIES = [s for s in ShardingStrategy if not s.is_hybrid]


@functools.cache
def alone() -> list[Any]:
    model = exact.Model()
    optimizer = SGD(model.parameters(), lr=exact.RATE, momentum=MOMENTUM)
    for _ in range(STEPS):
        exact.step(model, optimizer, exact.data(SAMPLES))
        assert exact.bits(model.parameters()) <= 53
    return exact.weights(model)


def train(model: Any, share: Any, ranks: int) -> None:
    optimizer = SGD(model.parameters(), lr=exact.RATE, momentum=MOMENTUM)
    for _ in range(STEPS):
        exact.step(model, optimizer, share, ranks)


def sharded(strategy: ShardingStrategy | None) -> list[Any]:
    size = dist.get_world_size()
    share = exact.data(SAMPLES).shares(size)[dist.get_rank()]
    if strategy is None:
        model: Any = fully_shard(exact.Model())
        train(model, share, size)
        return [p.full_tensor().detach().numpy().copy() for p in model.parameters()]
    model = FSDP(exact.Model(), sharding_strategy=strategy)
    train(model, share, size)
    with FSDP.summon_full_params(model):
        return exact.weights(model)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 6])
def test_fsdp(size: int) -> None:
    for strategy in (*STRATEGIES, None):
        for found in launch(sharded, size, args=(strategy,)):
            assert exact.same(found, alone()), strategy


@pytest.mark.parametrize("transport", ["sim://", "tcp://", "file", "mqtt://"])
@pytest.mark.slow
def test_fsdp_over_other_transports(transport: str, tmp_path: Path) -> None:
    address = f"file://{tmp_path}/ring" if transport == "file" else transport
    for strategy in (ShardingStrategy.FULL_SHARD, None):
        for found in launch(sharded, 3, address, args=(strategy,), timeout=300):
            assert exact.same(found, alone())


def of_linears() -> Any:
    """The exact model as two linear layers, whose weights lie the other way round."""
    whole = exact.Model()
    net: Any = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1)).double()
    for layer, w, b in ((net[0], whole.w1, whole.b1), (net[2], whole.w2, whole.b2)):
        layer.weight.data = w.detach().t().contiguous()
        layer.bias.data = b.detach().clone()
    return net


def in_order(weights: list[Any]) -> list[Any]:
    return [w.T.copy() if w.ndim == 2 else w for w in weights]


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 6])
def test_tensor_parallel(size: int) -> None:
    def rank() -> list[Any]:
        mesh = init_device_mesh("cpu", (size,))
        net = parallelize_module(of_linears(), mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
        train(net, exact.data(SAMPLES), 1)
        return [(p.full_tensor() if isinstance(p, DTensor) else p).detach().numpy().copy() for p in net.parameters()]

    for found in launch(rank, size):
        assert exact.same(in_order(found), alone())


@pytest.mark.parametrize("make", [ScheduleGPipe, Schedule1F1B])
@pytest.mark.parametrize("microbatches", [1, 2, 5])
def test_pipelines_of_replicas(make: Any, microbatches: int) -> None:
    """Two stages, each on 1, 2 or 3 ranks with a share of the samples, in uneven micro-batches."""

    def rank(replicas: int) -> list[Any]:
        mesh = init_device_mesh("cpu", (replicas, 2), mesh_dim_names=("dp", "pp"))
        stage, copy = mesh.get_local_rank("pp"), mesh.get_local_rank("dp")
        part = [of_linears()[:2], of_linears()[2:]][stage]
        if replicas > 1:
            part = nn.parallel.DistributedDataParallel(part, process_group=mesh.get_group("dp"))
        share = exact.data(SAMPLES).shares(replicas)[copy]
        optimizer = SGD(part.parameters(), lr=exact.RATE, momentum=MOMENTUM)
        schedule = make(
            PipelineStage(part, stage, 2, "cpu", group=mesh.get_group("pp")),
            microbatches,
            loss_fn=lambda out, y: exact.loss(out, y) * float(replicas),
            scale_grads=False,
        )
        for _ in range(STEPS):
            optimizer.zero_grad()
            schedule.step(*((share.x,) if stage == 0 else ()), target=share.y if stage else None)
            optimizer.step()
            exact.snap(part.parameters())
        return exact.weights(part)

    for replicas in (1, 2, 3):
        found = launch(rank, 2 * replicas, args=(replicas,))
        for copy in range(replicas):
            assert exact.same(in_order(found[2 * copy] + found[2 * copy + 1]), alone())
