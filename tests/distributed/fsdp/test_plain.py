"""Lesson 21's unit of FSDP, the plain one, is `FullyShardedDataParallel` and one rank, bit for bit."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import nn, sim
from minitorch_dist.distributed.fsdp import FullyShardedDataParallel
from minitorch_dist.launching import launch
from minitorch_dist.optim import SGD
from minitorch_dist.testing import exact
from mtd.course import lesson
from mtd.course.path import LessonAnswer

FORMS = ("plain", "fast")


@pytest.fixture(scope="module", autouse=True)
def lesson_is_found() -> Iterator[None]:
    with LessonAnswer.ours(lesson.find(21)).searched():
        yield


def unit_of(form: str) -> Any:
    plain: Any = importlib.import_module("sharded").FullyShardedDataParallel
    return plain if form == "plain" else FullyShardedDataParallel


def gathered(model: nn.Module) -> np.ndarray[Any, Any]:
    """All parameters of all units, one after another."""
    found = []
    for unit in model.modules():
        if isinstance(unit, unit_of("plain")):
            unit.gather()
            found += [part.window.detach().clone().reshape(-1).numpy() for part in unit.parts]
    with FullyShardedDataParallel.summon_full_params(model, writeback=False):
        return np.concatenate(found or [p.detach().reshape(-1).numpy() for p in model.parameters()])


def exact_weights(form: str) -> np.ndarray[Any, Any]:
    rank, size = dist.get_rank(), dist.get_world_size()
    model = unit_of(form)(exact.Model(seed=1 if rank == 0 else 7))
    optimizer = SGD(model.parameters(), lr=exact.RATE)
    for number, count in enumerate((37, 16)):
        share = exact.data(count, seed=number).shares(size)[rank]
        exact.step(model, optimizer, share, ranks=size)
    return gathered(model)


def alone() -> np.ndarray[Any, Any]:
    model = exact.Model()
    optimizer = SGD(model.parameters(), lr=exact.RATE)
    for number, count in enumerate((37, 16)):
        exact.step(model, optimizer, exact.data(count, seed=number))
    return np.concatenate([weights.ravel() for weights in exact.weights(model)])


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("form", FORMS)
def test_in_exact_mode_it_is_one_rank(form: str, size: int) -> None:
    expected = alone()
    for found in sim.run(exact_weights, size, args=(form,)).results:
        assert np.array_equal(found, expected)


def layers(form: str) -> bytes:
    """Ordinary numbers, which round, with a unit for each layer; two backward passes for each step."""
    torch.manual_seed(3)
    wrap = unit_of(form)
    model = nn.Sequential(wrap(nn.Linear(3, 5)), nn.Tanh(), wrap(nn.Linear(5, 2, bias=False)), wrap(nn.Linear(2, 1)))
    optimizer = SGD(model.parameters(), lr=0.1, momentum=0.9)
    torch.manual_seed(dist.get_rank())
    for _ in range(2):
        optimizer.zero_grad()
        for _ in range(2):
            model(torch.rand(4, 3)).sum().backward()
        optimizer.step()
    return gathered(model).tobytes()


@pytest.mark.parametrize("address", ["sim://", "tcp://"])
def test_in_ordinary_numbers_two_ranks_agree_with_the_fast_form(address: str) -> None:
    plain, fast = (launch(layers, 2, address, (form,)) for form in FORMS)
    assert plain == fast


def memory() -> list[int]:
    """Bytes that are whole before, within and after a forward pass."""
    unit = unit_of("plain")(nn.Linear(4, 4))

    def held() -> int:
        return sum(part.whole.untyped_storage().nbytes() for part in unit.parts)

    seen = [held()]
    unit.module.register_forward_hook(lambda *_: seen.append(held()))
    output = unit(torch.ones(1, 4)).sum()
    seen.append(held())
    output.backward()
    return [*seen, held(), sum(part.shard.nbytes for part in unit.parts)]


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_the_whole_is_there_only_while_it_is_needed(size: int) -> None:
    length = -(-16 // size) + -(-4 // size)  # of the weight's shard and the bias's
    for found in sim.run(memory, size).results:
        assert found == [0, 4 * length * size, 0, 0, 4 * length]
