"""Lesson 21's units of FSDP: backwards that are not like all others."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Iterator
from typing import Any

import pytest

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import nn, sim
from minitorch_dist.optim import Adam
from minitorch_dist.testing import check_same_as_one_rank, exact
from mtd.course import lesson
from mtd.course.path import LessonAnswer

SIZES = (1, 2, 3, 5, 8)
RATE = 2.0**-4


@pytest.fixture(scope="module")
def unit() -> Iterator[Any]:
    one = lesson.find(21)
    with LessonAnswer.ours(one).searched():
        yield importlib.import_module("sharded").FullyShardedDataParallel


class Sums(nn.Module):
    """The gradient of each weight is x; those that `uses` leaves out have none."""

    def __init__(self, count: int = 3) -> None:
        super().__init__()
        self.weights = nn.ParameterList([torch.full((2,), n + 1.0) for n in range(count)])
        self.uses = [*range(count)]

    def forward(self, x: Any) -> Any:
        return sum(self.weights[number] * x for number in self.uses)


def whole(unit: Any) -> list[float]:
    """All ranks' shards of the gradients, without the padding; nan where there is none."""
    found: list[float] = []
    for part in unit.parts:
        shard = part.shard
        mine = torch.full(shard.shape, float("nan")) if shard.grad is None else shard.grad
        parts = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, mine)
        found += torch.cat(parts)[: part.shape.numel()].tolist()
    return found


def held(unit: Any) -> int:
    """Bytes of what is whole."""
    return sum(part.whole.untyped_storage().nbytes() for part in unit.parts)


class Half(nn.Module):
    def __init__(self, w: Any, b: Any, is_last: bool) -> None:
        super().__init__()
        self.w, self.b, self.is_last = w, b, is_last

    def forward(self, x: Any) -> Any:
        found = x @ self.w + self.b
        return found if self.is_last else found.relu()


@pytest.mark.parametrize("to_none", [True, False])
def test_a_batch_in_pieces_is_one_batch(unit: Any, to_none: bool) -> None:
    """With Adam, bit for bit as one rank with the whole batch."""

    def train(batches: list[exact.Data]) -> Any:
        model = exact.Model()
        units = [unit(Half(model.w1, model.b1, False)), unit(Half(model.w2, model.b2, True))]
        net = nn.Sequential(*units)
        optimizer = Adam(net.parameters(), lr=RATE)
        for batch in batches:
            optimizer.zero_grad(set_to_none=to_none)
            for piece in batch.shares(3):
                (exact.loss(net(piece.x), piece.y) * float(dist.get_world_size())).backward()
            optimizer.step()
            exact.snap(net.parameters())
        found = []
        for each in units:
            each.gather()
            found += [each.module.w.detach().clone(), each.module.b.detach().clone()]
        return found

    def alone(batches: list[exact.Data]) -> Any:
        model = exact.Model()
        optimizer = Adam(model.parameters(), lr=RATE)
        for batch in batches:
            exact.step(model, optimizer, batch)
        return model

    check_same_as_one_rank(train, SIZES, alone=alone)


def in_a_net(unit: Any, alike: bool) -> list[list[float]]:
    """Three units; weight 1 of the last is used by no rank, or by all but rank 0."""
    layers = [Sums() for _ in range(3)]
    if alike or dist.get_rank() == 0:
        layers[2].uses = [0, 2]
    units = [unit(layer) for layer in layers]
    nn.Sequential(*units)(torch.ones(2)).sum().backward()
    assert not any(map(held, units))
    return [whole(each) for each in units]


@pytest.mark.parametrize("size", SIZES)
def test_a_parameter_that_nobody_uses_keeps_nothing_back(unit: Any, size: int) -> None:
    for found in sim.run(in_a_net, size, (unit, True)).results:
        assert found == [[24.0] * 6, [24.0] * 6, [36.0, 36.0, 0.0, 0.0, 36.0, 36.0]]


@pytest.mark.parametrize("size", [2, 3, 5, 8])
def test_a_parameter_that_only_some_ranks_use_is_refused_in_words(unit: Any, size: int) -> None:
    """These ranks reduce before the next unit is gathered, the others after it. torch crashes in gloo."""
    with pytest.raises(dist.DistMismatch, match="reduce_scatter_tensor"):
        sim.run(in_a_net, size, (unit, False))


def frozen(unit: Any) -> list[Any]:
    """Trained, frozen, trained; then the middle one thaws, and is frozen again."""
    layers = [Sums(1) for _ in range(3)]
    for p in layers[1].parameters():
        p.requires_grad_(False)
    units = [unit(layer) for layer in layers]
    net, found = nn.Sequential(*units), []
    for is_frozen in (True, False, True):
        for shard in units[1].parameters():
            shard.requires_grad_(not is_frozen)
        net.zero_grad()
        net(torch.full((2,), dist.get_rank() + 1.0)).sum().backward()
        assert not any(map(held, units))
        found.append([all(shard.grad is None for shard in each.parameters()) for each in units])
    return found


@pytest.mark.parametrize("size", SIZES)
def test_a_frozen_unit_has_no_gradient_and_may_thaw(unit: Any, size: int) -> None:
    seen = [False, True, False], [False] * 3, [False, True, False]
    assert sim.run(frozen, size, (unit,)).results == [[*seen]] * size


def two_kinds(unit: Any, kind: str) -> tuple[list[bool], list[float]]:
    module = Sums()
    if kind == "frozen":
        module.weights[0].requires_grad_(False)
    else:
        module.weights[0].data = module.weights[0].data.double()
    one = unit(module)
    one(torch.ones(2) * (dist.get_rank() + 1)).sum().backward()
    return [shard.grad is None for shard in one.parameters()], whole(one)


@pytest.mark.parametrize("kind", ["frozen", "dtype"])
@pytest.mark.parametrize("size", SIZES)
def test_a_unit_of_two_kinds(unit: Any, kind: str, size: int) -> None:
    for is_none, grads in sim.run(two_kinds, size, (unit, kind)).results:
        assert is_none == [kind == "frozen", False, False]
        assert grads[2:] == [(size + 1) / 2] * 4
        assert kind == "frozen" or grads[:2] == [(size + 1) / 2] * 2


def tied(unit: Any) -> list[float]:
    first, second = nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False)
    first.weight.data.copy_(torch.eye(2) * 2)
    second.weight = first.weight
    one = unit(nn.Sequential(first, second))
    one(torch.ones(1, 2) * (dist.get_rank() + 1)).sum().backward()
    return whole(one)


@pytest.mark.parametrize("size", SIZES)
def test_layers_that_share_a_weight_share_it(unit: Any, size: int) -> None:
    wanted = [4 * (size + 1) / 2] * 4  # the gradient of w·w·x is 2·w·x
    assert sim.run(tied, size, (unit,)).results == [wanted] * size


def twice(unit: Any) -> list[list[float]]:
    """Used twice in one forward; then each use takes another weight."""
    one = unit(Sums(2))
    one(one(torch.ones(2))).sum().backward()
    found = [whole(one)]
    one.zero_grad()
    x = torch.ones(2)
    for one.module.uses in ([0], [1]):
        x = one(x)
    x.sum().backward()
    assert not held(one)
    return [*found, whole(one)]


@pytest.mark.parametrize("size", SIZES)
def test_a_unit_that_is_used_twice(unit: Any, size: int) -> None:
    for found in sim.run(twice, size, (unit,)).results:
        assert found == [[6.0] * 4, [2.0, 2.0, 1.0, 1.0]]


def quiet(unit: Any) -> list[Any]:
    one = unit(Sums())
    for mode, training in itertools.product((torch.no_grad(), torch.enable_grad()), (True, False)):
        one.train(training)
        with mode:
            assert one(torch.ones(2)).tolist() == [6.0, 6.0]
        assert not held(one)
    return [shard.grad for shard in one.parameters() if shard.grad is not None]


@pytest.mark.parametrize("size", SIZES)
def test_an_evaluation_leaves_nothing(unit: Any, size: int) -> None:
    assert sim.run(quiet, size, (unit,)).results == [[]] * size
