"""DistributedOptimizer: every owner steps its own parameters as one local optimizer would."""

from __future__ import annotations

from typing import Any

import pytest

import minitorch_dist as mtd
from minitorch_dist.distributed import autograd, optim, rpc
from tests.rpc import worlds
from tests.rpc.worlds import run


class Part(mtd.nn.Module):
    def __init__(self, seed: int) -> None:
        super().__init__()
        mtd.manual_seed(seed)
        self.linear = mtd.nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        return self.linear(x).tanh()

    def rrefs(self) -> list[Any]:
        return [rpc.RRef(parameter) for parameter in self.parameters()]

    def values(self) -> list[Any]:
        return [parameter.detach().clone() for parameter in self.parameters()]


KINDS: list[tuple[Any, dict[str, Any]]] = [
    (mtd.optim.SGD, {"lr": 0.1, "momentum": 0.9}),
    (mtd.optim.Adam, {"lr": 0.01}),
    (mtd.optim.Adagrad, {}),
]


@pytest.mark.parametrize("transport", worlds.THREADS)
@pytest.mark.parametrize(("kind", "options"), KINDS)
def test_a_model_over_three_workers_trains_as_in_one(kind: Any, options: dict[str, Any], transport: str) -> None:
    def program(rank: int) -> None:
        if rank:
            return
        parts = [rpc.remote(f"w{worker}", Part, (worker,)) for worker in range(3)]
        for part in parts:
            part.to_here()  # they are made: we draw from the same generator
        twins = [Part(worker) for worker in range(3)]
        there = optim.DistributedOptimizer(
            kind, [rref for part in parts for rref in part.rpc_sync().rrefs()], **options
        )
        here = kind([p for twin in twins for p in twin.parameters()], **options)
        mtd.manual_seed(5)
        for _ in range(4):
            x = mtd.randn(3, 4)
            with autograd.context() as context_id:
                y = x
                for part in parts:
                    y = part.rpc_sync().forward(y)
                autograd.backward(context_id, [y.sum()])
                there.step(context_id)
            here.zero_grad()
            z = x
            for twin in twins:
                z = twin(z)
            z.sum().backward()
            here.step()
        for part, twin in zip(parts, twins, strict=True):
            for ours, theirs in zip(part.rpc_sync().values(), twin.values(), strict=True):
                assert mtd.equal(ours, theirs)

    run(program, 3, transport)


def test_a_step_between_anothers_forward_and_backward_is_noticed() -> None:
    """T3: three trainers on one parameter server."""

    def program(rank: int) -> None:
        if rank:
            return
        part = rpc.remote("w1", Part, (0,))
        optimizer = optim.DistributedOptimizer(mtd.optim.SGD, part.rpc_sync().rrefs(), lr=0.1)
        with autograd.context() as context_id:
            x = mtd.ones(1, 4, requires_grad=True)
            loss = part.rpc_sync().forward(x).sum()
            rpc.rpc_sync("w2", one_step, (part, optimizer.remote_optimizers))
            with pytest.raises(RuntimeError, match=r"modified by an inplace operation.*\[4, 4\]"):
                autograd.backward(context_id, [loss])

    run(program, 3)


def one_step(part: Any, optimizers: list[Any]) -> None:
    # the caller's context came with the call; a trainer has one of its own
    from minitorch_dist.distributed.rpc.message import context_id as context

    token = context.set(None)
    try:
        with autograd.context() as context_id:
            loss = part.rpc_sync().forward(mtd.ones(1, 4)).sum()
            autograd.backward(context_id, [loss])
            for one in optimizers:
                one.rpc_sync().step(context_id)
    finally:
        context.reset(token)


def test_wrong_optimizers_and_contexts() -> None:
    def program(rank: int) -> None:
        if rank:
            return
        weight = rpc.remote("w1", mtd.nn.Parameter, (mtd.ones(2),))
        with pytest.raises(ValueError, match="learning rate"):
            optim.DistributedOptimizer(mtd.optim.SGD, [weight], lr=-1.0)
        optimizer = optim.DistributedOptimizer(mtd.optim.SGD, [weight], lr=1.0)
        with pytest.raises(RuntimeError, match="Could not find autograd context"):
            optimizer.step(12345)

    run(program, 2)
