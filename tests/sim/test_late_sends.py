"""What isend sends is its message's until that is over: who writes to it earlier is told, with the line."""

from __future__ import annotations

from typing import Any

import pytest

import minitorch_dist as torch
from minitorch_dist import distributed as dist, sim


def around() -> tuple[int, int]:
    rank, size = dist.get_rank(), dist.get_world_size()
    return (rank + 1) % size, (rank - 1) % size


def writes_too_early(count: int = 3, waits: bool = True) -> None:
    right, left = around()
    x, y = torch.ones(count), torch.zeros(count)
    work = dist.isend(x, right)
    x.add_(1)
    dist.recv(y, left)
    if waits:
        assert work is not None
        work.wait()


def one_buffer_for_all(count: int = 3) -> None:
    """The buffer of the step before, which is seldom over."""
    right, left = around()
    x, y = torch.zeros(count), torch.zeros(count)
    works = []
    for number in range(3):
        x.fill_(number)
        works.append(dist.isend(x, right))
        dist.recv(y, left)
    for work in works:
        assert work is not None
        work.wait()


def waits_first(count: int = 3) -> float:
    right, left = around()
    x, y = torch.ones(count), torch.zeros(count)
    for _ in range(3):
        work = dist.isend(x, right)
        dist.recv(y, left)
        assert work is not None
        work.wait()
        x.add_(1)
    return y.sum().item()


def asks_first(count: int = 3) -> float:
    right, left = around()
    x, y = torch.ones(count), torch.zeros(count)
    work = dist.isend(x, right)
    dist.recv(y, left)
    assert work is not None
    while not work.is_completed():
        sim.compute("1us")
    x.add_(1)
    return y.sum().item()


def lets_go(count: int = 3) -> float:
    """Nobody waits for it, and nobody writes to it: it comes, though its rank is over."""
    right, left = around()
    dist.isend(torch.ones(count), right)
    y = torch.zeros(count)
    dist.recv(y, left)
    return y.sum().item()


@pytest.mark.parametrize("program", [writes_too_early, one_buffer_for_all])
@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("count", [3, 20_001])
def test_writing_too_early_is_found(program: Any, size: int, count: int) -> None:
    failure = sim.survey(program, size, 6, args=(count,), faults=sim.chaos(0)).failure
    assert failure is not None and isinstance(failure.error, sim.Overwritten), failure
    lines = program.__code__.co_firstlineno + (3 if program is writes_too_early else 7)
    assert f"isend (float32[{count}]) at test_late_sends.py:{lines}" in str(failure.error)
    assert "l" in failure.minimise().case.hardships  # and jitter, where it else is over in time


def test_also_if_nobody_waits_for_it() -> None:
    with pytest.raises(sim.Overwritten, match=r"rank . wrote to the tensor of its isend"):
        sim.run(writes_too_early, 3, (3, False), hardships="l")


def test_what_was_written_arrives() -> None:
    def program() -> float:
        x, y = torch.ones(3), torch.zeros(3)
        if dist.get_rank() == 0:
            dist.isend(x, 1)
            x.add_(1)
        else:
            dist.recv(y, 0)
            assert y[0].item() == 1
        return 0.0

    with pytest.raises(AssertionError) as caught:
        sim.run(program, 2, hardships="l")
    assert any("wrote to the tensor of its isend" in note for note in caught.value.__notes__)


@pytest.mark.parametrize("program", [waits_first, asks_first, lets_go])
@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("count", [0, 3, 20_001])
def test_who_waits_first_is_right(program: Any, size: int, count: int) -> None:
    failure = sim.survey(program, size, 10, args=(count,)).failure
    assert failure is None, failure.explain()
    for hardships in ("l", "lr", "ls"):
        if program is lets_go and "s" in hardships and size > 1:
            continue  # it is not over when its rank is
        report = sim.run(program, size, (count,), hardships=hardships)
        assert report.results == sim.run(program, size, (count,)).results
