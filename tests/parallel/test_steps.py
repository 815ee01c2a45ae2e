"""The three simple forms of data parallel training, of lessons 17 to 19, are `DistributedDataParallel`, bit for bit."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import nn, sim
from minitorch_dist.launching import launch
from minitorch_dist.nn.parallel import DistributedDataParallel
from minitorch_dist.optim import SGD
from minitorch_dist.testing import exact
from mtd.course import lesson
from mtd.course.path import LessonAnswer

SMALL = 64 / (1 << 20)  # MiB: several buckets for the smallest model


FORMS = ("replicas", "buckets", "overlap", "ddp")


@pytest.fixture(scope="module", autouse=True)
def lessons_are_found() -> Iterator[None]:
    with LessonAnswer.ours(lesson.find(19)).searched():
        yield


def wrapped(name: str, module: nn.Module) -> Any:
    """The module in this form, with several buckets for the smallest model where there are buckets."""
    if name == "ddp":
        return DistributedDataParallel(module, bucket_cap_mb=SMALL)
    form: Any = importlib.import_module(name).DistributedDataParallel
    return form(module) if name == "replicas" else form(module, SMALL)


def exact_weights(name: str) -> list[np.ndarray[Any, Any]]:
    """Three steps in numbers that do not round; some ranks have fewer samples than others, or none."""
    rank, size = dist.get_rank(), dist.get_world_size()
    module = exact.Model(seed=1 + rank)
    model = wrapped(name, module)
    optimizer = SGD(module.parameters(), lr=exact.RATE)
    for number, count in enumerate((37, 8, 3)):
        share = exact.data(count, seed=number).shares(size)[rank]
        exact.step(model, optimizer, share, ranks=size)
    return exact.weights(module)


def alone() -> list[np.ndarray[Any, Any]]:
    model = exact.Model()
    optimizer = SGD(model.parameters(), lr=exact.RATE)
    for number, count in enumerate((37, 8, 3)):
        exact.step(model, optimizer, exact.data(count, seed=number))
    return exact.weights(model)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("name", FORMS)
def test_in_exact_mode_every_form_is_one_rank(name: str, size: int) -> None:
    expected = alone()
    for weights in sim.run(exact_weights, size, args=(name,)).results:
        assert exact.same(weights, expected)


def ordinary(name: str, accumulates: bool) -> list[bytes]:
    """Ordinary numbers, which round; of two ranks the order of addition cannot matter."""
    torch.manual_seed(dist.get_rank())
    module = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 1))
    model = wrapped(name, module)
    optimizer = SGD(module.parameters(), lr=0.1, momentum=0.9)
    for _ in range(3):
        optimizer.zero_grad()
        if accumulates:
            with model.no_sync():
                model(torch.rand(2, 3)).sum().backward()
        model(torch.rand(4, 3)).sum().backward()
        optimizer.step()
    return [p.detach().numpy().tobytes() for p in module.parameters()]


@pytest.mark.parametrize("address", ["sim://", "tcp://"])
@pytest.mark.parametrize("accumulates", [False, True])
def test_in_ordinary_numbers_two_ranks_agree_bit_for_bit_in_every_form(accumulates: bool, address: str) -> None:
    names = FORMS[1:] if accumulates else FORMS  # lesson 17's knows no `no_sync`
    found = {name: launch(ordinary, 2, address, (name, accumulates)) for name in names}
    assert all(weights == found["ddp"] for weights in found.values())
    assert found["ddp"][0] == found["ddp"][1]


def three_lines(model: nn.Module) -> None:
    """The simple form that `docs/ddp.md` shows."""
    for p in model.parameters():
        assert p.grad is not None
        dist.all_reduce(p.grad)
        p.grad /= dist.get_world_size()


def trained(by_ddp: bool) -> list[bytes]:
    """Three steps on data of this rank, in numbers that round."""
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 1))
    model = DistributedDataParallel(module, bucket_cap_mb=SMALL) if by_ddp else module
    optimizer = SGD(module.parameters(), lr=0.1, momentum=0.9)
    torch.manual_seed(1 + dist.get_rank())
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.rand(4, 3)).sum().backward()
        if not by_ddp:
            three_lines(module)
        optimizer.step()
    return [p.detach().numpy().tobytes() for p in module.parameters()]


@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize("address", ["sim://", "tcp://"])
def test_three_lines_after_backward_are_ddp_bit_for_bit(address: str, size: int) -> None:
    plain, ddp = (launch(trained, size, address, (by_ddp,)) for by_ddp in (False, True))
    assert plain == ddp
    assert all(weights == plain[0] for weights in plain)


def exactly_trained(by_ddp: bool) -> list[np.ndarray[Any, Any]]:
    """Some numbers that do not round, given as gradients: the order of addition cannot matter."""
    rank, size = dist.get_rank(), dist.get_world_size()
    module = nn.Linear(3, 2)
    for p in module.parameters():
        p.data.fill_(1.0)
    model = DistributedDataParallel(module) if by_ddp else module
    x = torch.arange(12.0).reshape(4, 3) * size + rank * size  # so that the mean is whole
    model(x).sum().backward()
    if not by_ddp:
        three_lines(module)
    return [p.grad.numpy().copy() for p in module.parameters() if p.grad is not None]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
def test_three_lines_are_ddp_where_no_sum_rounds(size: int) -> None:
    plain, ddp = (sim.run(exactly_trained, size, args=(by,)).results for by in (False, True))
    for one, other in zip(plain, ddp, strict=True):
        assert len(one) == 2
        assert exact.same(one, other)


def part_of_the_model(name: str) -> list[float]:
    """Rank 0's loss leaves the second layer out; its share of that gradient is zero."""
    module = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 1)])

    class Chooses(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = module

        def forward(self, x: Any) -> Any:
            x = self.layers[0](x)
            return x if dist.get_rank() == 0 else self.layers[1](x)

    model = wrapped(name, Chooses())
    model(torch.ones(1, 2)).sum().backward()
    grad = module[1].bias.grad
    assert grad is not None
    return [grad.item(), float(model.require_backward_grad_sync)]


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("name", ["buckets", "overlap"])
def test_a_parameter_that_a_rank_leaves_out_counts_as_zero_there(name: str, size: int) -> None:
    for result in sim.run(part_of_the_model, size, args=(name,)).results:
        assert result == [pytest.approx((size - 1) / size), 1.0]
