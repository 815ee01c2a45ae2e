"""Lessons 17 to 20: parameters that are frozen, thaw, or are frozen after the wrapper was made."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import pytest

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import nn, sim
from mtd.course import lesson
from mtd.course.path import folders, searched

SIZES = (1, 2, 3, 5, 8)


@pytest.fixture(scope="module")
def modules() -> Iterator[Any]:
    one = lesson.find(20)
    with searched(folders(one, one.folder, {})):
        yield {name: importlib.import_module(name) for name in ("replicas", "buckets", "overlap", "zero")}


def net() -> Any:
    made = nn.Sequential(nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False))
    for p in made.parameters():
        p.data.fill_(1.0)
    return made


def gradients(model: Any, module: Any) -> list[float | None]:
    model(torch.full((1, 1), dist.get_rank() + 1.0)).sum().backward()
    return [None if p.grad is None else p.grad.item() for p in module.parameters()]


def thawed(wrapper: Any) -> list[float | None]:
    module = net()
    module[0].weight.requires_grad_(False)
    model = wrapper(module)
    module[0].weight.requires_grad_(True)
    return gradients(model, module)


@pytest.mark.parametrize("size", SIZES)
def test_a_parameter_that_thaws_is_averaged(modules: Any, size: int) -> None:
    wrapper = modules["replicas"].DistributedDataParallel
    assert sim.run(thawed, size, (wrapper,)).results == [[(size + 1) / 2] * 2] * size


@pytest.mark.parametrize("name", ["buckets", "overlap"])
@pytest.mark.parametrize("before", [True, False])
def test_buckets_refuse_what_changed_since(modules: Any, name: str, before: bool) -> None:
    def program() -> None:
        module = net()
        module[0].weight.requires_grad_(before)
        model = modules[name].DistributedDataParallel(module)
        module[0].weight.requires_grad_(not before)
        gradients(model, module)

    with pytest.raises(RuntimeError, match="wrap the module again"):
        sim.run(program, 3)


@pytest.mark.parametrize("name", ["replicas", "buckets", "overlap"])
@pytest.mark.parametrize("size", SIZES)
def test_backwards_add_up_and_a_frozen_parameter_has_none(modules: Any, name: str, size: int) -> None:
    def program() -> list[float | None]:
        module = net()
        module[1].weight.requires_grad_(False)
        model = modules[name].DistributedDataParallel(module)
        for _ in range(3):
            found = gradients(model, module)
        return found

    assert sim.run(program, size).results == [[3 * (size + 1) / 2, None]] * size


@pytest.mark.parametrize("stage", [1, 2])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("norm_type", [2.0, 1.0, float("inf"), 3.0])
def test_the_norm_is_that_of_one_rank(modules: Any, stage: int, size: int, norm_type: float) -> None:
    """Uneven parts, a parameter without numbers, one without a gradient, and ranks that own nothing."""
    zero = modules["zero"]
    shapes = [(7,), (2, 3), (0,), (), (5,), (1, 1)]

    def made() -> list[Any]:
        draw = torch.Generator().manual_seed(3)
        found = [torch.zeros(shape, dtype=torch.float64, requires_grad=True) for shape in shapes]
        for number, p in enumerate(found):
            p.grad = None if number == 4 else torch.randn(shapes[number], generator=draw).double()
        return found

    def program() -> tuple[float, list[Any]]:
        mine = made()
        optimizer = zero.ZeroRedundancyOptimizer(mine, torch.optim.SGD, lr=1.0)
        for p in mine:
            if stage == 2 and optimizer.owner[p] != dist.get_rank():
                p.grad = None
        norm = zero.clip_grad_norm_(mine, 0.5, norm_type)
        return norm, [None if p.grad is None else p.grad.tolist() for p in mine]

    one = made()
    wanted = nn.utils.clip_grad_norm_(one, 0.5, norm_type).item()
    clipped = [None if p.grad is None else p.grad for p in one]
    for norm, grads in sim.run(program, size).results:
        assert norm == pytest.approx(wanted, rel=1e-12)
        for mine, ours in zip(grads, clipped, strict=True):
            if mine is not None:
                assert ours is not None
                assert torch.tensor(mine, dtype=torch.float64).allclose(ours, rtol=1e-5)
