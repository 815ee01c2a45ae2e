"""The memory of torch's programs on simulated devices, by category."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from minitorch_dist import sim
from minitorch_dist.tensors import ledger

WIDTH, ROWS = 256, 64
ONE = 4 * WIDTH * WIDTH  # bytes of a matrix


def _net() -> nn.Module:
    return nn.Sequential(*[nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(3)])


def _held(run: Any, rank: int = 0) -> dict[str, int]:
    return {name: n for name, n in run.ranks[rank].peak_held.items() if n}


def _alone() -> dict[str, int]:
    net = _net()
    optimizer = torch.optim.Adam(net.parameters(), foreach=False)
    for _ in range(2):
        optimizer.zero_grad()
        net(torch.ones(ROWS, WIDTH)).sum().backward()
        optimizer.step()
    torch.cpu.synchronize()
    return ledger.of("cuda").snapshot().by_category


@pytest.mark.parametrize("shapes", [False, True])
def test_what_is_left_after_a_step(shapes: bool) -> None:
    report = sim.run(_alone, 1, memory="1GB", shapes=shapes)
    (left,) = report.results
    assert left["parameter"] == left["gradient"] == 3 * ONE
    assert left["optimizer"] == 2 * 3 * ONE + 3 * 4  # two moments, and the number of steps of each parameter
    assert left["activation"] == left["communication"] == 0
    held = _held(report)
    assert report.ranks[0].peak_bytes == sum(held.values()) > sum(left.values())


def _sharded() -> None:
    dist.init_process_group("nccl")
    net, mesh = _net(), init_device_mesh("cpu", (dist.get_world_size(),))
    for layer in net:  # type: ignore[attr-defined]
        fully_shard(layer, mesh=mesh)
    fully_shard(net, mesh=mesh)
    optimizer = torch.optim.Adam(net.parameters())
    for _ in range(2):
        net(torch.ones(ROWS, WIDTH)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()


@pytest.mark.parametrize("size", [2, 8])
def test_shards_and_what_is_gathered(size: int) -> None:
    runs = [
        sim.run(_sharded, size, device="h100", shapes=True, fold=fold, net="sim://?latency=1us&rate=400Gb/s")
        for fold in (False, True)
    ]
    for run in runs:
        held = _held(run, size - 1)
        assert held["parameter"] == 3 * ONE // size
        assert ONE <= held["communication"] <= 4 * ONE
        assert run.ranks[0].peak_bytes == sum(held.values())
        assert "at the peak: parameter" in str(run)
    assert [rank.peak_held for rank in runs[0].ranks] == [rank.peak_held for rank in runs[1].ranks]


def _too_large() -> None:
    net = _net()
    optimizer = torch.optim.Adam(net.parameters())
    net(torch.ones(1 << 20, WIDTH)).sum().backward()
    optimizer.step()


@pytest.mark.parametrize("fold", [False, True])
def test_what_does_not_fit_is_refused_in_torchs_words(fold: bool) -> None:
    with pytest.raises(torch.OutOfMemoryError, match=r"Tried to allocate 1.07 GB \(activation\)"):
        sim.run(_too_large, 1, memory="2GB", shapes=True, fold=fold)
