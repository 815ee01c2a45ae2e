"""A rank that asks again and again gets on, whatever sends have to wait for; and so do those it asks for."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import minitorch_dist as torch
from minitorch_dist import distributed as dist, sim
from minitorch_dist.distributed import world
from tests.deep import examples
from tests.sim import nodes
from tests.sim.nodes import SimulatedNode
from transports.errors import Deadlock

PATIENCE = 4000  # questions
STORE = "polling"


def asks(answer: Callable[[], bool], pause: str | None = "10us") -> None:
    for _ in range(PATIENCE):
        if answer():
            return
        if pause is not None:
            sim.compute(pause)
    raise AssertionError(f"{PATIENCE} questions, and no answer")


def around() -> tuple[int, int]:
    rank, size = dist.get_rank(), dist.get_world_size()
    return (rank + 1) % size, (rank - 1) % size


def is_completed() -> None:
    right, left = around()
    y = torch.zeros(3)
    work = dist.irecv(y, left)
    dist.send(torch.full((3,), float(dist.get_rank())), right)
    assert work is not None
    asks(work.is_completed)
    assert y[0].item() == left


def is_success() -> None:
    work = dist.all_reduce(torch.ones(3), async_op=True)
    assert work is not None
    asks(work.is_success)


def several_at_once() -> None:
    rank, size = dist.get_rank(), dist.get_world_size()
    works = [dist.irecv(torch.zeros(2), src) for src in range(size) if src != rank]
    for to in range(size):
        if to != rank:
            dist.send(torch.ones(2), to)
    asks(lambda: all(work.is_completed() for work in works if work is not None))


def sends_beside() -> None:
    right, left = around()
    work = dist.isend(torch.ones(3), right)
    assert work is not None
    y = torch.zeros(3)
    other = dist.irecv(y, left)
    asks(work.is_completed)
    asks(other.is_completed)  # type: ignore[union-attr]


def looks_into_the_store() -> None:
    """Nobody drives the transport of a rank that waits for a key, and its peers send to it."""
    rank, size = dist.get_rank(), dist.get_world_size()
    store = world.place().given["store"]
    y = torch.zeros(3)
    work = dist.irecv(y, (rank - 1) % size)
    dist.send(torch.ones(3), (rank + 1) % size)
    store.set(f"{STORE}/{rank}", b"sent")
    asks(lambda: bool(store.check([f"{STORE}/{r}" for r in range(size)])))
    assert work is not None
    work.wait()


def before_it_receives() -> None:
    """No receive is posted yet either."""
    rank, size = dist.get_rank(), dist.get_world_size()
    store = world.place().given["store"]
    dist.send(torch.ones(3), (rank + 1) % size)
    store.set(f"{STORE}/{rank}", b"sent")
    asks(lambda: bool(store.check([f"{STORE}/{r}" for r in range(size)])))
    dist.recv(torch.zeros(3), (rank - 1) % size)


PROGRAMS = [is_completed, is_success, several_at_once, sends_beside, looks_into_the_store, before_it_receives]


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("hardships", ["r", "rw", "ojrwahglbk"])
def test_who_asks_gets_on(program: Callable[[], None], size: int, hardships: str) -> None:
    few = examples(12)
    found = sim.survey(program, size, range(1, few), faults=sim.chaos(0), hardships=hardships)
    failure = found.failure
    assert failure is None, failure.explain()


@pytest.mark.parametrize("program", [is_completed, is_success, several_at_once, sends_beside])
@pytest.mark.parametrize("net", ["sim://?eager=0B", "sim://?eager=8B&window=1B"])
def test_who_asks_drives(program: Callable[[], None], net: str) -> None:
    """On a network where sends meet their receivers: who asks is there to be met."""
    for size in (2, 3, 5):
        sim.run(program, size, net=net)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 20])
@pytest.mark.parametrize("seed", [None, 3])
def test_many_looks_at_one_instant_are_no_deadlock(size: int, seed: int | None) -> None:
    """All messages are there at once, and the receiver lets the others run between them."""

    def program(node: SimulatedNode) -> int:
        if node.rank:
            node.send(0, b"")
            return 0
        found = 0
        for src in range(1, node.world_size):
            while not node.letters.has(src):
                node.compute(0)
            found += len(node.receive(src)) + 1
            node.compute(0)
        for _ in range(100):
            node.compute(0)
        return found

    outcome = nodes.run(program, size, sim.uniform("0us", "10Gb/s"), seed)
    assert outcome.results[0] == size - 1 and outcome.time == 0


@pytest.mark.parametrize("size", [1, 3])
def test_looking_for_ever_is_a_deadlock(size: int) -> None:
    def program(node: SimulatedNode) -> None:
        while True:
            node.compute(0)

    with pytest.raises(Deadlock, match="for which it polls"):
        nodes.run(program, size, sim.uniform("0us", "10Gb/s"))
