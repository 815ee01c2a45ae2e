"""Lessons 17 to 21: parameters that are frozen, thaw, or are frozen after the wrapper was made."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import pytest

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import nn, sim
from mtd.course import lesson
from mtd.course.path import LessonAnswer

SIZES = (1, 2, 3, 5, 8)


@pytest.fixture(scope="module")
def modules() -> Iterator[Any]:
    one = lesson.find(21)
    with LessonAnswer.ours(one).searched():
        yield {name: importlib.import_module(name) for name in ("replicas", "buckets", "overlap", "sharded")}


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


@pytest.mark.parametrize("size", SIZES)
def test_the_norm_is_that_of_one_rank(modules: Any, size: int) -> None:
    """Uneven parts, a parameter without numbers, one without a gradient, and ranks whose shards are padding."""
    sharded = modules["sharded"]
    shapes = [(7,), (2, 3), (0,), (), (5,), (1, 1)]

    def made() -> list[Any]:
        draw = torch.Generator().manual_seed(3)
        found = [torch.zeros(shape, dtype=torch.float64, requires_grad=True) for shape in shapes]
        for number, p in enumerate(found):
            p.grad = None if number == 4 else torch.randn(shapes[number], generator=draw).double()
        return found

    def program() -> tuple[float, list[Any]]:
        parts = []
        for p in made():
            parts.append(sharded.ShardedParameter(p.detach()))
            if p.grad is not None:
                parts[-1].reduce(p.grad)  # the same on all ranks, so it is its average
        norm = sharded.clip_grad_norm_([part.shard for part in parts], 0.5)
        for part in parts:  # as a parameter of these values is gathered
            part.shard.detach().copy_(part.shard * 0 if part.shard.grad is None else part.shard.grad)
            part.gather()
        return norm, [part.window.tolist() for part in parts]

    one = made()
    wanted = nn.utils.clip_grad_norm_(one, 0.5).item()
    for norm, grads in sim.run(program, size).results:
        assert norm == pytest.approx(wanted, rel=1e-12)
        for mine, p in zip(grads, one, strict=True):
            due = torch.zeros_like(p) if p.grad is None else p.grad
            assert torch.tensor(mine, dtype=torch.float64).view(due.shape).allclose(due, rtol=1e-5)


@pytest.mark.parametrize("size", SIZES)
def test_zero_takes_other_values_and_steps_from_there(modules: Any, size: int) -> None:
    """A checkpoint may be loaded into the model: the shards are views of its parameters."""

    def program() -> list[Any]:
        module = net()
        optimizer = modules["sharded"].ZeroRedundancyOptimizer(module.parameters(), torch.optim.SGD, lr=0.5)
        module.load_state_dict({name: value * 3 for name, value in module.state_dict().items()})
        gradients(module, module)  # of 3 · 3 x by each weight: 3 (rank + 1)
        optimizer.step()
        return [p.item() for p in module.parameters()]

    assert sim.run(program, size).results == [[3 - 0.5 * 3 * (size + 1) / 2] * 2] * size
