"""What the tests of this folder train, and how they ask every rank the same."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import minitorch_dist as mtd
import minitorch_dist.distributed as dist
from minitorch_dist import nn
from minitorch_dist.launching import launch
from minitorch_dist.nn.parallel import DistributedDataParallel as DDP


class Branches(nn.Module):
    """Two branches, of which a forward takes those it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.left, self.right = nn.Linear(3, 2), nn.Linear(3, 2)

    def forward(self, x: Any, which: str = "both") -> Any:
        if which == "both":
            return self.left(x) + self.right(x)
        return getattr(self, which)(x)


def on_ranks(
    size: int, act: Callable[..., Any], *args: Any, quiet: bool = True, transport: str = "queue://"
) -> list[Any]:
    """What `act(rank, size, *args)` returns on each rank; an exception is a result as well."""

    def run() -> Any:
        rank, world = dist.get_rank(), dist.get_world_size()
        try:
            return act(rank, world, *args)
        except Exception as error:
            return error

    with warnings.catch_warnings():
        if quiet:
            warnings.simplefilter("ignore")
        return launch(run, size, transport, timeout=300)


def grads(model: Any) -> dict[str, Any]:
    """Each parameter's gradient as nested lists."""
    return {n: None if p.grad is None else p.grad.tolist() for n, p in model.named_parameters()}


def weights(model: Any) -> list[np.ndarray]:
    return [p.detach().numpy().copy() for p in model.parameters()]


def scalar(value: float = 2.0, bias: bool = False) -> Any:
    """A Linear(1, 1) with this weight."""
    module = nn.Linear(1, 1, bias=bias)
    with mtd.no_grad():
        module.weight.fill_(value)
    return module


__all__ = ["DDP", "Branches", "grads", "on_ranks", "scalar", "weights"]
