"""Exploring over the number of ranks, and what a run says when its ranks leave."""

from __future__ import annotations

import logging

import pytest

import minitorch_dist as torch
from minitorch_dist import distributed as dist, sim
from minitorch_dist.distributed import leftover_messages


def wrong_with_five() -> None:
    """Halving, for a number of ranks that is not a power of two."""
    rank, size = dist.get_rank(), dist.get_world_size()
    x = torch.ones(1)
    distance = 1
    while distance < size:
        if rank % (2 * distance) == distance:
            dist.send(x, rank - distance)
        elif rank % (2 * distance) == 0 and rank + distance < size:
            y = torch.zeros(1)
            dist.recv(y, rank + distance)
            x += y
        distance *= 2
    if rank == 0:
        assert x.item() == (size if size != 5 else 4)


def test_a_bug_that_needs_five_ranks() -> None:
    assert sim.explore(wrong_with_five, 4, seeds=10) is None
    bug = sim.explore(wrong_with_five, 4, seeds=10, world_sizes=sim.SIZES)
    assert bug is not None and bug.case.world_size == 5
    with pytest.raises(AssertionError):
        sim.replay(bug.minimise().replay_token, wrong_with_five)


def test_every_size_has_its_turn() -> None:
    seen: list[int] = []

    def program() -> None:
        if dist.get_rank() == 0:
            seen.append(dist.get_world_size())

    found = sim.survey(program, 4, 12, world_sizes=(2, 3, 4))
    assert found.runs == 3 + 11 and set(seen) == {2, 3, 4}
    found = sim.survey(program, 4, [7])
    assert found.runs == 1


def orders_differ(wrong: bool) -> None:
    """1F1B by hand on three stages; the last two take forward and backward in another order."""
    rank, size, count = dist.get_rank(), dist.get_world_size(), 6
    x = torch.zeros(2)
    warm = min(count, size - 1 - rank)

    def forward(number: int) -> None:
        if rank:
            dist.recv(x, rank - 1)
        if rank + 1 < size:
            dist.send(x, rank + 1)

    def backward(number: int) -> None:
        if rank + 1 < size:
            dist.recv(x, rank + 1)
        if rank:
            dist.send(x, rank - 1)

    if wrong and rank == size - 1:
        warm = 1  # it believes that another stage is behind it
    for number in range(warm):
        forward(number)
    for number in range(count - warm):
        forward(warm + number)
        backward(number)
    for number in range(warm):
        backward(count - warm + number)


@pytest.mark.parametrize("size", [3, 5])
def test_stages_whose_orders_differ_lean_on_buffers(size: int) -> None:
    found = sim.survey(orders_differ, size, 3, args=(True,))
    assert found.failure is None and found.buffering is not None
    assert "wait in sends" in str(found.buffering.error) or "in a send" in str(found.buffering.error)


@pytest.mark.parametrize("reliable", [True, False])
@pytest.mark.parametrize("fault", [sim.reorder(0.5), sim.delay("1ms", p=0.5), sim.duplicate(0.5)], ids=str)
def test_what_was_received_is_not_missed(fault: sim.Fault, reliable: bool, caplog: pytest.LogCaptureFixture) -> None:
    def program() -> None:
        rank, size = dist.get_rank(), dist.get_world_size()
        x = torch.ones(1)
        for _ in range(5):
            for to in range(1, size):
                if rank == 0:
                    dist.send(x, to)
                elif rank == to:
                    dist.recv(x, 0)

    with caplog.at_level(logging.WARNING):
        for seed in range(10):
            leftover_messages._mentioned.clear()
            sim.run(program, 3, seed=seed, faults=sim.Plan((fault,), reliable))
    assert not [r for r in caplog.messages if "has not received" in r]
