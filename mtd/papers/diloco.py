"""P10: DiLoCo sends once in H steps what data parallelism sends in every step.

H times     an inner step (AdamW) on one's own data; nothing is sent
once        Δ = where it began - where it is now, averaged over the workers
            an outer step (SGD with Nesterov's momentum) along Δ from where it began
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import minitorch_dist as torch
from minitorch_dist import distributed as dist, nn, optim
from minitorch_dist.sim import nets
from minitorch_dist.sim.runner import run
from mtd.papers.paper import Row

WORKERS, ROUNDS, WIDTH = 8, 2, 8
NET = nets.Hockney("5us", "1Gb/s")


class DiLoCo:
    """The outer step of every worker: `step()` is a collective."""

    def __init__(self, parameters: Sequence[Any]) -> None:
        self.parameters = parameters
        self.began = [p.detach().clone().requires_grad_() for p in parameters]
        self.outer = optim.SGD(self.began, lr=0.7, momentum=0.9, nesterov=True)

    @torch.no_grad()
    def step(self) -> None:
        for began, here in zip(self.began, self.parameters, strict=True):
            began.grad = began - here
            dist.all_reduce(began.grad, op=dist.ReduceOp.AVG)
        self.outer.step()
        for began, here in zip(self.began, self.parameters, strict=True):
            here.copy_(began)


def _loss(model: Any) -> Any:
    """Of a batch of a worker's own data, which all workers' models are to fit together."""
    x = torch.randn(4, WIDTH)
    return (model(x) - x.sum(1, keepdim=True)).square().mean()


def _diloco(rounds: int, inner_steps: int) -> None:
    torch.manual_seed(0)
    model = nn.Linear(WIDTH, 1, bias=False)
    torch.manual_seed(1 + dist.get_rank())
    inner, outer = optim.AdamW(model.parameters(), lr=0.01), DiLoCo(list(model.parameters()))
    for _ in range(rounds):
        for _ in range(inner_steps):
            inner.zero_grad()
            _loss(model).backward()
            inner.step()
        outer.step()


def _data_parallel(steps: int) -> None:
    model: Any = nn.parallel.DistributedDataParallel(nn.Linear(WIDTH, 1, bias=False))
    for _ in range(steps):
        _loss(model).backward()


def _sent(fn: Any, *args: int) -> int:
    return run(fn, WORKERS, args, net=NET).bytes_sent


def rows() -> Sequence[Row]:
    warm = _sent(_data_parallel, 2)  # by then all agree on values and buckets
    found = []
    for steps in (10, 20):
        every = _sent(_data_parallel, 2 + ROUNDS * steps) - warm
        once = _sent(_diloco, ROUNDS, steps)
        found.append(Row(f"H={steps}: how many times fewer bytes", steps, every / once))
    each, once = _sent(_data_parallel, 3) - warm, _sent(_diloco, 1, 500)
    found.append(Row("H=500, a step of data parallel 500 times", 500, 500 * each / once))
    return found
