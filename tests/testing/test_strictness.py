"""Sends that wait: for their receives, or for those of so many messages before."""

from __future__ import annotations

import pytest

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import sim
from minitorch_dist.sim import Deadlock
from minitorch_dist.testing.strictness import OverwrittenBuffer, strict


def burst(count: int) -> list[float]:
    """Everybody sends `count` messages to the right, and then receives as many."""
    rank, size = dist.get_rank(), dist.get_world_size()
    for number in range(count):
        dist.send(torch.tensor([10.0 * rank + number]), (rank + 1) % size)
    received = torch.zeros(count)
    for number in range(count):
        dist.recv(received[number : number + 1], (rank - 1) % size)
    return [float(value) for value in received]


@pytest.mark.parametrize("size", [2, 3, 5, 8])
@pytest.mark.parametrize("room", [0, 1, 2, 4])
def test_a_circle_of_sends_needs_room_for_all_of_them(size: int, room: int) -> None:
    with strict(room):
        for count in range(1, room + 1):
            results = sim.run(burst, size, (count,)).results
            assert results[1] == [float(number) for number in range(count)]
        with pytest.raises(Deadlock):
            sim.run(burst, size, (room + 1,))


def test_room_is_had_again_after_a_receive() -> None:
    def program() -> None:
        for _ in range(5):
            burst(2)

    with strict(2):
        sim.run(program, 3)


@pytest.mark.parametrize("room", [0, 1])
def test_an_isend_is_frozen_whether_there_is_room_or_not(room: int) -> None:
    def program() -> None:
        rank = dist.get_rank()
        tensor = torch.ones(2)
        work = dist.isend(tensor, 1 - rank)
        tensor += 1
        dist.recv(torch.zeros(2), 1 - rank)
        work.wait()

    with strict(room), pytest.raises(OverwrittenBuffer, match="wrote to the tensor of its isend"):
        sim.run(program, 2)


def test_outside_the_block_sends_wait_for_nobody() -> None:
    with strict():
        pass
    sim.run(burst, 2, (3,))


@pytest.mark.parametrize("size", [2, 3, 5])
def test_messages_of_a_known_kind_wait_too(size: int) -> None:
    """The short way that repeated sends take is not taken."""

    def program() -> None:
        rank, tensor = dist.get_rank(), torch.ones(4)
        for _ in range(3):
            if rank == 0:
                dist.recv(tensor, size - 1)
            dist.send(tensor, (rank + 1) % size)
            if rank:
                dist.recv(tensor, rank - 1)
        dist.send(tensor, (rank + 1) % size)  # all at once: a circle, where sends wait
        dist.recv(tensor, (rank - 1) % size)

    assert sim.run(program, size).messages == 4 * size
    with strict(), pytest.raises(sim.Deadlock):
        sim.run(program, size)


@pytest.mark.parametrize("way", ["waits", "asks", "forgets"])
def test_an_isend_that_nobody_waits_for_is_told(way: str) -> None:
    def program() -> None:
        rank, size = dist.get_rank(), dist.get_world_size()
        work = dist.isend(torch.ones(2), (rank + 1) % size)
        dist.recv(torch.zeros(2), (rank - 1) % size)
        if way == "waits":
            work.wait()
        while way == "asks" and not work.is_completed():
            pass

    with strict() as sends:
        sim.run(program, 3)
    said = sends.forgotten()
    assert len(said) == (3 if way == "forgets" else 0)
    assert all("never waits for its isend to rank" in words and ".py:" in words for words in said)
