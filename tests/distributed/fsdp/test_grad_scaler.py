"""A step is skipped by all ranks if one of them found inf in its part of a gradient."""

from __future__ import annotations

import pytest

import minitorch_dist as mt
import minitorch_dist.distributed as dist
from minitorch_dist import nn, optim
from minitorch_dist.amp import GradScaler
from minitorch_dist.distributed.fsdp import fully_shard
from minitorch_dist.launching import launch


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_all_skip_what_one_cannot_take(ranks: int) -> None:
    def rank() -> list[float]:
        mt.manual_seed(0)
        model = fully_shard(nn.Linear(4, 3))
        optimizer = optim.SGD(model.parameters(), lr=0.5)
        scaler = GradScaler("cpu", init_scale=1024.0, growth_interval=2)
        sums = []
        for step in range(5):
            with mt.autocast("cpu"):
                loss = model(mt.ones(2, 4)).float().square().sum()
            scaler.scale(loss).backward()
            if step == 2 and dist.get_rank() == ranks - 1:
                grads = [p.grad for p in model.parameters() if p.grad is not None]
                grads[0]._local_array().reshape(-1)[:1] = float("inf")
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
            sums.append(sum(float(p.full_tensor().sum()) for p in model.state_dict().values()))
        assert scaler.get_scale() == 2048.0, "once doubled, once halved, once doubled"
        return sums

    for sums in launch(rank, ranks):
        assert sums[2] == sums[1] != sums[0], "the third step was skipped, by every rank"
        assert len(set(sums)) == 4
