"""In exact mode P ranks are one rank, bit for bit: DDP, Join and ZeRO, however the samples are shared."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

import minitorch_dist as mtd
import minitorch_dist.distributed as dist
from minitorch_dist import optim
from minitorch_dist.distributed.algorithms import Join
from minitorch_dist.distributed.optim import ZeroRedundancyOptimizer
from minitorch_dist.launching import launch
from minitorch_dist.nn.parallel import DistributedDataParallel as DDP
from minitorch_dist.testing import exact

RATE = exact.RATE
STEPS = 5
WAYS: dict[str, dict[str, Any]] = {
    "plain": {},
    "views": {"gradient_as_bucket_view": True},
    "unused": {"find_unused_parameters": True},
    "many buckets": {"bucket_cap_mb": 1e-4},
}


def optimizer_of(name: str, model: Any) -> Any:
    if name == "sgd":
        return optim.SGD(model.parameters(), lr=RATE, momentum=0.5)
    return ZeroRedundancyOptimizer(model.parameters(), optim.SGD, lr=RATE, momentum=0.5)


def alone(steps: int = STEPS) -> list[Any]:
    """The weights of each step before they are rounded, one after another, and those at the end."""
    model = exact.Model()
    optimizer = optimizer_of("sgd", model)
    with exact.watched() as seen:
        for number in range(steps):
            exact.step(model, optimizer, exact.data(37, seed=number))
            assert exact.bits(model.parameters()) < 53
    return [*itertools.chain(*seen), *exact.weights(model)]


def together(optimizer_name: str = "sgd", **told: Any) -> list[Any]:
    rank, size = dist.get_rank(), dist.get_world_size()
    module = exact.Model(seed=1 + rank)
    model = DDP(module, **told)
    optimizer = optimizer_of(optimizer_name, model)
    with exact.watched() as seen:
        for number in range(STEPS):
            share = exact.data(37, seed=number).shares(size)[rank]
            exact.step(model, optimizer, share, ranks=size)
    return [*itertools.chain(*seen), *exact.weights(module)]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("size", range(1, 7))
def test_ddp_is_one_rank(size: int, way: str) -> None:
    expected = alone()
    for found in launch(together, size, kwargs=WAYS[way]):
        assert exact.same(found, expected)


@pytest.mark.parametrize("size", range(1, 7))
def test_zero_is_one_rank(size: int) -> None:
    expected = alone()
    for found in launch(together, size, kwargs={"optimizer_name": "zero"}):
        assert exact.same(found, expected)


def uneven(optimizer_name: str = "zero", **told: Any) -> list[Any]:
    """Rank r trains 2 + r iterations; iteration n of one rank is that of all who still train."""
    rank, size = dist.get_rank(), dist.get_world_size()
    module = exact.Model()
    model = DDP(module, **told)
    optimizer = optimizer_of(optimizer_name, model)
    optimizer.register_step_post_hook(lambda *_: exact.snap(module.parameters()))
    joined = [model, optimizer] if optimizer_name != "sgd" else [model]
    with Join(joined):
        for number in range(2 + rank):
            share = exact.data(37, seed=number).shares(size)[rank]
            optimizer.zero_grad()
            (exact.loss(model(share.x), share.y) * float(size)).backward()
            optimizer.step()
    return exact.weights(module)


def uneven_alone(size: int) -> list[Any]:
    model = exact.Model()
    optimizer = optimizer_of("sgd", model)
    for number in range(2 + size - 1):
        shares = exact.data(37, seed=number).shares(size)
        present = shares[max(0, number - 1) :]  # rank r has iterations 0 … r + 1
        optimizer.zero_grad()
        for share in present:
            exact.loss(model(share.x), share.y).backward()
        optimizer.step()
        exact.snap(model.parameters())
    return exact.weights(model)


@pytest.mark.parametrize("optimizer", ["sgd", "zero"])
@pytest.mark.parametrize("size", range(1, 7))
def test_join_is_one_rank(size: int, optimizer: str) -> None:
    expected = uneven_alone(size)
    for found in launch(uneven, size, kwargs={"optimizer_name": optimizer}):
        assert exact.same(found, expected)


@pytest.mark.slow
@pytest.mark.parametrize("transport", ["tcp", "file", "mqtt"])
def test_over_real_transports(transport: str, tmp_path: Path) -> None:
    address = f"file://{tmp_path}/ranks" if transport == "file" else f"{transport}://"
    size = 3 if transport == "tcp" else 2
    found = launch(everything, size, address, timeout=300)
    one, uneven_one = alone(), uneven_alone(size)
    for plain, zero, joined in found:
        assert exact.same(plain, one)
        assert exact.same(zero, one)
        assert exact.same(joined, uneven_one)


def everything() -> tuple[Any, Any, Any]:
    return together(bucket_cap_mb=1e-4), together("zero"), uneven()


@pytest.mark.parametrize("size", [2, 5])
def test_in_virtual_time(size: int) -> None:
    for plain, zero, joined in launch(everything, size, "sim://"):
        assert exact.same(plain, alone())
        assert exact.same(zero, alone())
        assert exact.same(joined, uneven_alone(size))


def test_it_learns_something() -> None:
    samples, model = exact.data(37), exact.Model()
    optimizer = optimizer_of("sgd", model)
    before = exact.loss(model(samples.x), samples.y).item()
    for _ in range(200):
        exact.step(model, optimizer, samples)
        assert exact.bits(model.parameters()) < 53
    assert exact.loss(model(samples.x), samples.y).item() < before / 2


def test_every_single_sample_is_seen() -> None:
    def after_a_step(numbers: list[int]) -> list[Any]:
        samples, model = exact.data(37), exact.Model()
        part = exact.Data(samples.x[numbers], samples.y[numbers])
        exact.step(model, optimizer_of("sgd", model), part)
        return [*exact.weights(model), *[p.grad.numpy() for p in model.parameters()]]

    whole = after_a_step(list(range(37)))
    for left_out in range(37):
        rest = [number for number in range(37) if number != left_out]
        assert not exact.same(after_a_step(rest), whole), left_out
        assert not exact.same(after_a_step([*rest, left_out, left_out]), whole), left_out


def test_order_does_not_matter() -> None:
    samples = exact.data(37)
    model, other = exact.Model(), exact.Model()
    exact.step(model, optimizer_of("sgd", model), samples)
    turned = exact.Data(mtd.flip(samples.x, [0]), mtd.flip(samples.y, [0]))
    exact.step(other, optimizer_of("sgd", other), turned)
    assert exact.same(exact.weights(model), exact.weights(other))
