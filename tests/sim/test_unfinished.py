"""A tensor that is used before its operation is over is named while exploring, in each run; right programs are not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import minitorch_dist as torch
from minitorch_dist import distributed as dist, sim
from transports.errors import ReadTooEarly, ReceivedAtOnce

HERE = "test_unfinished.py"


def around() -> tuple[int, int]:
    rank, size = dist.get_rank(), dist.get_world_size()
    return (rank + 1) % size, (rank - 1) % size


def exchange(use: Callable[[Any], object], after: bool = False) -> None:
    """`use` gets the tensor of a receive before its wait, or after it."""
    right, left = around()
    y = torch.zeros(1)
    work: Any = dist.irecv(y, left)
    sent: Any = dist.isend(torch.ones(1), right)
    sim.compute("5ms")  # the message is there by now, and nobody has been told
    if after:
        work.wait()
    use(y)
    work.wait()
    sent.wait()


def sends_on(y: Any) -> None:
    work: Any = dist.isend(y, around()[0], tag=1)
    dist.recv(torch.zeros(1), around()[1], tag=1)
    work.wait()


READS: dict[str, Callable[[Any], object]] = {
    "read": lambda y: y + 1,
    "item": lambda y: y.item(),
    "list": lambda y: y.tolist(),
    "part": lambda y: y[:1].clone(),
    "compared": lambda y: bool(y > 0),
    "summed": lambda y: y.sum(),
    "copied": lambda y: torch.zeros(1).copy_(y),
}


@pytest.mark.parametrize("name", READS)
@pytest.mark.parametrize("size", [2, 3, 5])
def test_a_read_is_named(name: str, size: int) -> None:
    for seed in range(3):
        found = sim.survey(exchange, size, [seed], args=[READS[name]]).failure
        assert found is not None and isinstance(found.error, ReadTooEarly), found
        words, line = str(found.error), exchange.__code__.co_firstlineno + 4
        assert "read the tensor of its irecv (float32[1]) at " in words and "Call wait()" in words
        assert f"at {HERE}:{line} of group 'default_pg' from rank" in words
    assert sim.explore(exchange, size, 6, args=[READS[name], True]) is None


@pytest.mark.parametrize(
    ("use", "verb"), [(lambda y: y.add_(1), "wrote to"), (lambda y: y.zero_(), "wrote to"), (sends_on, "sent")]
)
def test_other_uses_are_named(use: Callable[[Any], object], verb: str) -> None:
    found = sim.explore(exchange, 3, 3, args=[use])
    assert found is not None and f"{verb} the tensor of its irecv" in str(found.error)
    assert sim.explore(exchange, 3, 6, args=[use, True]) is None


def steps_too_early(waits: bool = False) -> None:
    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(torch.ones(1, 2)).sum().backward()
    works: list[Any] = [dist.all_reduce(p.grad, async_op=True) for p in model.parameters()]
    for work in works if waits else []:
        work.wait()
    optimizer.step()


def test_an_optimizer_that_steps_too_early() -> None:
    found = sim.explore(steps_too_early, 2, 3)
    assert found is not None and "read the tensor of its all_reduce #0" in str(found.error)
    assert f"at {HERE}:{steps_too_early.__code__.co_firstlineno + 7} rank" in str(found.error)
    assert sim.explore(steps_too_early, 2, 6, args=[True]) is None


def one_for_all(reads: bool = True) -> None:
    """Rank 0 receives from all others into one tensor. Its readers get what came last."""
    y, size = torch.zeros(3), dist.get_world_size()
    if dist.get_rank():
        dist.send(torch.full((3,), float(dist.get_rank())), 0)
        return
    total = 0.0
    works: list[Any] = [dist.irecv(y, src) for src in range(1, size)]
    for work in works:
        work.wait()
        total += y.sum().item() if reads else 0
    y.fill_(2.0)
    assert y.sum().item() == 6  # it is used anew, and is right again


@pytest.mark.parametrize("size", [3, 5, 8])
def test_one_tensor_for_several_receives_is_named(size: int) -> None:
    for seed in range(3):
        found = sim.survey(one_for_all, size, [seed]).failure
        assert found is not None and isinstance(found.error, ReceivedAtOnce), found
        words, line = str(found.error), one_for_all.__code__.co_firstlineno + 7
        assert f"{HERE}:{line + 3} rank 0 used a tensor" in words
        assert f"at {HERE}:{line} of group 'default_pg' from rank 1" in words and "from rank 2." in words


@pytest.mark.parametrize("size", [2, 3, 5, 8])
def test_signals_into_one_tensor_that_nobody_reads_are_right(size: int) -> None:
    assert sim.explore(one_for_all, size, 6, args=[False]) is None


# ------------------------------------------------------------------------------- what is right


def in_order() -> None:
    """Messages of one sender come in order, so they may go to one place."""
    y = torch.zeros(2)
    if dist.get_rank() == 1:
        for number in range(3):
            dist.send(torch.full((2,), float(number)), 0)
    elif dist.get_rank() == 0:
        works: list[Any] = [dist.irecv(y, 1) for _ in range(3)]
        for work in works:
            work.wait()
        assert y[0].item() == 2


def waits_for_the_last() -> None:
    """Collectives of one group are carried out in order."""
    xs = [torch.ones(2) for _ in range(4)]
    works: list[Any] = [dist.all_reduce(x, async_op=True) for x in xs]
    works[-1].wait()
    assert sum(xs).tolist() == [4.0 * dist.get_world_size()] * 2  # type: ignore[attr-defined]


def synchronises() -> None:
    x = torch.ones(2)
    dist.all_reduce(x, async_op=True)
    dist.barrier()
    assert x[0].item() == dist.get_world_size()


def asks() -> None:
    x = torch.ones(2)
    work: Any = dist.all_reduce(x, async_op=True)
    while not work.is_completed():
        sim.compute("1us")
    assert x[0].item() == dist.get_world_size()


def hears_from_a_future() -> None:
    x = torch.ones(2)
    work: Any = dist.all_reduce(x, async_op=True)
    assert work.get_future().wait()[0][0].item() == dist.get_world_size()
    assert x[0].item() == dist.get_world_size()


def other_half() -> None:
    """Rows of one tensor: one is received while the other is computed with; columns, too."""
    right, left = around()
    both = torch.zeros(2, 2)
    for one, other in [(both[0], both[1]), (both[:, 0], both[:, 1])]:
        work: Any = dist.irecv(one, left)
        sent: Any = dist.isend(torch.ones(2), right)
        other.add_(other * 2 + 1)
        work.wait()
        sent.wait()
        assert one.sum().item() == 2


def root_reads() -> None:
    """A tensor that is only sent may be read meanwhile."""
    x = torch.full((2,), float(dist.get_rank()))
    works: list[Any] = [dist.broadcast(x, 0, async_op=True)]
    if dist.get_rank() == 0:
        assert x.sum().item() == 0
        works += [dist.isend(x, rank) for rank in range(1, dist.get_world_size())]
        assert x.sum().item() == 0
    else:
        works[0].wait()
        works.append(dist.irecv(torch.zeros(2), 0))
    for work in works:
        work.wait()


def shapes_only() -> None:
    right, left = around()
    y = torch.zeros(4)
    work: Any = dist.irecv(y, left)
    sent: Any = dist.isend(torch.ones(4), right)
    square, first = y.view(2, 2), y[0]
    work.wait()
    sent.wait()
    assert square.sum().item() == 4 and first.item() == 1


@pytest.mark.parametrize("size", [1, 2, 3, 5])
@pytest.mark.parametrize(
    "program",
    [in_order, waits_for_the_last, synchronises, asks, hears_from_a_future, other_half, root_reads, shapes_only],
)
def test_what_is_right_is_not_accused(program: Callable[[], None], size: int) -> None:
    needs_others = size == 1 and program in (in_order, other_half, shapes_only)
    found = None if needs_others else sim.explore(program, size, 10)
    assert found is None, found.explain()


def test_nobody_looks_on_outside_of_exploring() -> None:
    from minitorch_dist.tensors.core import observers

    sim.explore(asks, 2, 2)
    assert observers.operations == () and sim.run(asks, 2).results == [None, None]
