"""A small model, its data, and the run on one rank that all others are compared with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import minitorch_dist as mt
import minitorch_dist.distributed as dist
from minitorch_dist import nn, optim
from minitorch_dist.distributed.fsdp import FullyShardedDataParallel as FSDP

BATCH = 120  # divisible by 1, 2, 3, 5, 8


class Net(nn.Module):
    """Layers of odd sizes, one inside another, one used twice."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(5, 7)
        self.middle = nn.Sequential(nn.Linear(7, 9), nn.Tanh(), nn.Linear(9, 7))
        self.shared = nn.Linear(7, 7, bias=False)
        self.last = nn.Linear(7, 3)

    def forward(self, x: Any) -> Any:
        x = self.first(x).tanh()
        x = self.shared(x).tanh()
        x = self.middle(x)
        x = self.shared(x).tanh()
        return self.last(x)


def make(seed: int = 0) -> Net:
    mt.manual_seed(seed)
    return Net().double()


def batch(step: int) -> tuple[Any, Any]:
    draw = np.random.default_rng(step)
    return mt.tensor(draw.standard_normal((BATCH, 5))), mt.tensor(draw.standard_normal((BATCH, 3)))


def mine(step: int) -> tuple[Any, Any]:
    x, y = batch(step)
    rank, size = dist.get_rank(), dist.get_world_size()
    part = slice(rank * BATCH // size, (rank + 1) * BATCH // size)
    return x[part], y[part]


def loss_of(model: Any, x: Any, y: Any) -> Any:
    return ((model(x) - y) ** 2).mean()


def train(
    model: Any, draw: Callable[[int], tuple[Any, Any]], steps: int = 3, after: Callable[[Any], None] | None = None
) -> Any:
    """Train with Adam; returns the optimizer."""
    optimizer = optim.Adam(model.parameters(), lr=0.01)
    for step in range(steps):
        optimizer.zero_grad()
        loss_of(model, *draw(step)).backward()
        if after is not None:
            after(model)
        optimizer.step()
    return optimizer


def values(model: Any) -> dict[str, Any]:
    with FSDP.summon_full_params(model, writeback=False):
        return {name: p.detach().cpu().numpy().copy() for name, p in model.named_parameters()}


def alone(**options: Any) -> dict[str, Any]:
    model = make()
    train(model, batch, **options)
    return {name: p.detach().cpu().numpy().copy() for name, p in model.named_parameters()}


def assert_close(found: dict[str, Any], expected: dict[str, Any], atol: float = 1e-12) -> None:
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=0, atol=atol, err_msg=name)
