"""Shapes alone take the time of numbers on a device that takes time."""

from __future__ import annotations

import pytest

import minitorch_dist as torch
from minitorch_dist import nn, sim
from minitorch_dist.distributed.fsdp import fully_shard
from minitorch_dist.nn.parallel import DistributedDataParallel


def two_steps(sharded: bool) -> None:
    model: nn.Module = nn.Sequential(nn.Linear(12, 30), nn.ReLU(), nn.Linear(30, 7))
    model = fully_shard(model) if sharded else DistributedDataParallel(model)  # type: ignore[assignment]
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        model(torch.ones(5, 12)).sum().backward()
        optimizer.step()


@pytest.mark.parametrize("sharded", [False, True], ids=["ddp", "fully_shard"])
@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
def test_times_bytes_and_peaks_are_those_of_numbers(size: int, sharded: bool) -> None:
    found = []
    for shapes in (False, True):
        report = sim.run(two_steps, size, args=(sharded,), device=sim.gpu("h100", launch="4us"), shapes=shapes)
        ranks = [(rank.device, rank.bytes_sent, rank.peak_bytes) for rank in report.ranks]
        found.append((report.time, ranks))
    assert found[0] == found[1]
    assert found[0][0] > 0
