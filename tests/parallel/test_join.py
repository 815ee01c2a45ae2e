"""Join: ranks with fewer inputs shadow the others."""

from __future__ import annotations

from typing import Any

import pytest

import minitorch_dist as mtd
import minitorch_dist.distributed as dist
from minitorch_dist import nn
from minitorch_dist.distributed.algorithms import Join, Joinable, JoinHook
from tests.parallel.models import DDP, Branches, on_ranks, scalar


def test_gradients_are_divided_by_the_initial_number_of_ranks() -> None:
    def act(rank: int, size: int) -> Any:
        model = DDP(scalar())
        found = []
        with Join([model]):
            for _ in range(2 + 2 * rank):
                model.zero_grad()
                model(mtd.full((1, 1), rank + 1.0)).sum().backward()
                found.append(model.module.weight.grad.item())
        return found

    assert on_ranks(2, act) == [[1.5, 1.5], [1.5, 1.5, 1.0, 1.0]]  # as torch has it


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_all_end_with_the_model_of_the_last(size: int) -> None:
    def act(rank: int, size: int) -> Any:
        module = nn.Sequential(scalar(), nn.BatchNorm1d(1))
        model = DDP(module)
        optimizer = mtd.optim.SGD(model.parameters(), lr=0.1)
        count = 0
        with Join([model]):
            for number in range(2 * rank):  # rank 0 has no input at all
                optimizer.zero_grad()
                x = mtd.tensor([[1.0], [2.0 + rank + number]])
                model(x).square().sum().backward()
                optimizer.step()
                count += 1
            trained = [p.tolist() for p in module.parameters()]
        return count, trained, {name: value.tolist() for name, value in module.state_dict().items()}

    found = on_ranks(size, act)
    assert [count for count, _, _ in found] == [2 * rank for rank in range(size)]
    assert all(state == found[-1][2] for _, _, state in found)
    last = found[-1][1]
    assert [found[0][2][name] for name in ("0.weight", "1.weight", "1.bias")] == last


@pytest.mark.parametrize(
    "told", [{}, {"find_unused_parameters": True}, {"bucket_cap_mb": 1e-6}, {"gradient_as_bucket_view": True}], ids=str
)
def test_every_way_of_reducing_can_be_shadowed(told: dict[str, Any]) -> None:
    def act(rank: int, size: int) -> Any:
        model = DDP(Branches(), **told)
        with Join([model]):
            for number in range(rank):
                model.zero_grad()
                if number % 2:
                    with model.no_sync():
                        model(mtd.ones(1, 3)).sum().backward()
                model(mtd.ones(1, 3)).sum().backward()
        dist.barrier()
        return "fine"

    assert on_ranks(3, act) == ["fine"] * 3


def test_throwing_when_one_has_run_out() -> None:
    def act(rank: int, size: int) -> Any:
        model = DDP(scalar())
        steps = 0
        with pytest.raises(RuntimeError) as caught, Join([model], throw_on_early_termination=True):
            for _ in range(2 + rank):
                model(mtd.ones(1, 1)).sum().backward()
                steps += 1
        return str(caught.value), steps

    assert on_ranks(2, act) == [
        ("Rank 0 exhausted all inputs.", 2),
        ("Detected at least one rank that exhausted inputs. Throwing across all ranks.", 2),
    ]


def test_disabled_it_does_nothing() -> None:
    def act(rank: int, size: int) -> Any:
        model = DDP(scalar())
        with Join([model], enable=False):
            for _ in range(2):
                model(mtd.full((1, 1), rank + 1.0)).sum().backward()
        return model.module.weight.grad.item()

    assert on_ranks(2, act) == [3.0, 3.0]


def test_afterwards_the_model_is_an_ordinary_one() -> None:
    def act(rank: int, size: int) -> Any:
        model = DDP(scalar())
        with Join([model]):
            for _ in range(1 + rank):
                model(mtd.ones(1, 1)).sum().backward()
        model.zero_grad()
        model(mtd.full((1, 1), rank + 1.0)).sum().backward()
        return model.module.weight.grad.item()

    assert on_ranks(3, act) == [2.0] * 3


class Counter(Joinable):
    """The sum of all ranks' numbers so far, kept by everybody."""

    class Hook(JoinHook):
        def __init__(self, counter: Counter) -> None:
            self.counter = counter

        def main_hook(self) -> None:
            dist.all_reduce(mtd.zeros(1))

        def post_hook(self, is_last_joiner: bool) -> None:
            self.counter.was_last = is_last_joiner

    def __init__(self) -> None:
        super().__init__()
        self.total, self.was_last = 0.0, False

    def add(self, value: float) -> None:
        Join.notify_join_context(self)
        mine = mtd.tensor([value])
        dist.all_reduce(mine)
        self.total += mine.item()

    def join_hook(self, **kwargs: Any) -> JoinHook:
        return Counter.Hook(self)

    @property
    def join_device(self) -> Any:
        return mtd.device("cpu")

    @property
    def join_process_group(self) -> Any:
        return dist.group.WORLD


def test_several_joinables_of_ones_own() -> None:
    def act(rank: int, size: int) -> Any:
        model, counter = DDP(scalar()), Counter()
        with Join([counter, model]):
            for _ in range(1 + rank):
                counter.add(1.0)
                model(mtd.ones(1, 1)).sum().backward()
        return counter.total, counter.was_last

    assert on_ranks(3, act) == [(3.0, False), (5.0, False), (6.0, True)]


def test_what_join_refuses() -> None:
    with pytest.raises(ValueError, match="at least one joinable"):
        Join([])

    class Elsewhere(Counter):
        @property
        def join_process_group(self) -> Any:
            return group

    group: Any = None

    def act(rank: int, size: int) -> Any:
        nonlocal group
        group = dist.new_group([0])
        with pytest.raises(ValueError, match="multiple process groups"):
            Join([DDP(scalar()), Elsewhere()])
        return "fine"

    assert on_ranks(1, act) == ["fine"]


def test_an_error_in_the_loop_is_not_hidden() -> None:
    def act(rank: int, size: int) -> Any:
        model = DDP(scalar())
        with Join([model]):
            raise KeyError("mine")

    assert [type(error) for error in on_ranks(2, act)] == [KeyError, KeyError]


@pytest.mark.parametrize("world", [1, 2, 3, 5])
def test_a_second_block_begins_without_the_gradients_of_the_first(world: int) -> None:
    """A rank that was done kept the others' averages, and its next backward added to them."""

    def one(rank: int, world: int) -> list[float]:
        net = DDP(nn.Linear(1, 1, bias=False))
        rows = 2 + 2 * (rank > 0)
        seen = []
        for _ in range(2):
            with Join([net]):
                for _ in range(rows):
                    net(mtd.full((1, 1), 50.0)).sum().backward()
                    seen.append(net.module.weight.grad.item())
                    net.zero_grad()
        return seen

    left = 50 * (world - 1) / world
    long = [50, 50, left, left] * 2
    for rank, seen in enumerate(on_ranks(world, one)):
        assert seen == pytest.approx(long if rank else [50.0] * 4), rank
