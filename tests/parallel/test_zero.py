"""ZeroRedundancyOptimizer is the optimizer that it spreads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minitorch_dist as mtd
from minitorch_dist import cuda, nn, optim
from minitorch_dist.distributed.optim import ZeroRedundancyOptimizer
from minitorch_dist.tensors import ledger
from tests.parallel.models import on_ranks, scalar, weights

KINDS: dict[str, tuple[Any, dict[str, Any]]] = {
    "sgd": (optim.SGD, {"lr": 0.05, "momentum": 0.9}),
    "adam": (optim.Adam, {"lr": 0.01}),
    "adamw": (optim.AdamW, {"lr": 0.01, "amsgrad": True}),
}


def network() -> Any:
    mtd.manual_seed(4)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))


def run(model: Any, optimizer: Any, steps: int = 4, first: int = 0) -> None:
    for number in range(first, first + steps):
        mtd.manual_seed(number)
        optimizer.zero_grad()
        model(mtd.randn(6, 4)).square().mean().backward()  # the same on every rank
        optimizer.step()


def expected(kind: str, steps: int = 4) -> list[Any]:
    model = network()
    run(model, KINDS[kind][0](model.parameters(), **KINDS[kind][1]), steps)
    return weights(model)


def equal(left: list[Any], right: list[Any]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(left, right, strict=True))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [1, 2, 3, 8])
def test_it_is_the_optimizer_that_it_spreads(size: int, kind: str) -> None:
    def act(rank: int, size: int) -> Any:
        model = network()
        made, options = KINDS[kind]
        zero = ZeroRedundancyOptimizer(model.parameters(), made, **options)
        run(model, zero)
        return weights(model), len(zero.state)

    found = on_ranks(size, act)
    for ours, _ in found:
        assert equal(ours, expected(kind))
    assert sum(count for _, count in found) == 4  # every parameter's state lives once


def test_the_largest_first_to_whom_has_least() -> None:
    def act(rank: int, size: int) -> Any:
        model = network()
        zero = ZeroRedundancyOptimizer(model.parameters(), optim.SGD, lr=0.1)
        number = {id(p): n for n, p in enumerate(model.parameters())}
        return [[number[id(p)] for group in part for p in group["params"]] for part in zero._partition_parameters()]

    assert on_ranks(2, act)[0] == [[0, 3], [2, 1]]


@pytest.mark.parametrize("size", [1, 2, 3])
def test_states_are_saved_whole_and_loaded_in_parts(size: int) -> None:
    def act(rank: int, size: int) -> Any:
        model = network()
        zero = ZeroRedundancyOptimizer(model.parameters(), optim.Adam, lr=0.01)
        run(model, zero, 2)
        if rank != 0 or size == 1:
            zero._all_state_dicts = []
        with pytest.raises(RuntimeError, match=r"consolidate_state_dict\(to="):
            zero.state_dict()
        zero.consolidate_state_dict(to=size - 1)
        return zero.state_dict() if rank == size - 1 else None, weights(model)

    *_, (saved, half_way) = on_ranks(size, act)
    model = network()
    plain = optim.Adam(model.parameters(), lr=0.01)
    run(model, plain, 2)
    reference = plain.state_dict()
    assert saved["state"].keys() == reference["state"].keys()
    for number, state in reference["state"].items():
        for name, value in state.items():
            assert np.array_equal(saved["state"][number][name].numpy(), value.numpy())
    plain.load_state_dict(saved)  # an ordinary optimizer takes it, and the other way round
    run(model, plain, 2, first=2)

    def go_on(rank: int, size: int) -> Any:
        module = network()
        for p, value in zip(module.parameters(), half_way, strict=True):
            p.data = mtd.from_numpy(value.copy())
        zero = ZeroRedundancyOptimizer(module.parameters(), optim.Adam, lr=0.5)
        zero.load_state_dict(saved)
        run(module, zero, 2, first=2)
        return weights(module)

    for other in (1, 2, 3):
        for found in on_ranks(other, go_on):
            assert equal(found, weights(model))


def test_schedulers_and_groups() -> None:
    def act(rank: int, size: int) -> Any:
        model = network()
        zero = ZeroRedundancyOptimizer([{"params": model[0].parameters(), "lr": 0.02}], optim.SGD, lr=0.1, momentum=0.9)
        zero.add_param_group({"params": model[2].parameters(), "lr": 0.03})
        scheduler = optim.lr_scheduler.ExponentialLR(zero, 0.5)
        for number in range(3):
            run(model, zero, 1, first=number)
            scheduler.step()
        return weights(model), [group["lr"] for group in zero.optim.param_groups]

    model = network()
    plain = optim.SGD([{"params": model[0].parameters(), "lr": 0.02}], lr=0.1, momentum=0.9)
    plain.add_param_group({"params": model[2].parameters(), "lr": 0.03})
    scheduler = optim.lr_scheduler.ExponentialLR(plain, 0.5)
    for number in range(3):
        run(model, plain, 1, first=number)
        scheduler.step()
    for found, rates in on_ranks(3, act):
        assert equal(found, weights(model))
        assert rates == [0.005, 0.0075]


def test_steps_within_backward_are_refused() -> None:
    def act(rank: int, size: int) -> Any:
        return ZeroRedundancyOptimizer(scalar().parameters(), optim.SGD, overlap_with_ddp=True)

    (error,) = on_ranks(1, act)
    assert isinstance(error, NotImplementedError) and "step() after backward" in str(error)


def test_each_rank_holds_its_part_of_the_state_only() -> None:
    def act(rank: int, size: int) -> Any:
        with cuda.simulated(1):
            module = nn.Sequential(*[nn.Linear(16, 16, bias=False) for _ in range(4)]).to("cuda")
            zero = ZeroRedundancyOptimizer(module.parameters(), optim.Adam, lr=0.01)
            module(mtd.ones(1, 16, device="cuda")).sum().backward()
            zero.step()
            return ledger.snapshot(0).by_category["optimizer"]

    whole = 4 * 2 * 16 * 16 * 4  # two numbers for each of four matrices
    for size in (1, 2, 4):
        assert on_ranks(size, act) == [whole // size] * size
