"""The clock's kernel: the calls that a message takes, and the bytes of a rank that waits."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

import minitorch_dist as torch
from minitorch_dist import distributed as dist, sim
from minitorch_dist.distributed.schedules import BUILT_IN
from mtd import estimates
from tests.fast_forms import needs_fast_forms
from tests.sim import nodes
from tests.sim.messages import End, Past
from tests.sim.nodes import SimulatedNode
from transports.virtual import medium
from transports.virtual.clock import VirtualClock
from transports.virtual.medium import SimMessage
from transports.virtual.network import Network
from transports.virtual.topology import uniform

NET = uniform("5us", "100Gb/s")
LITTLE = 12_500  # bytes


def calls(function: Callable[[], Any]) -> int:
    """How many Python functions are called."""
    count = 0

    def note(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("size", [8, 32])
def test_a_light_message_takes_few_calls(size: int) -> None:
    """It is made, leaves and is taken; its rank goes on. Of a ring there are 2 (p-1) p."""
    ring, net = BUILT_IN["all_reduce", "ring"], estimates.network_of(NET)

    def all_of_them() -> None:
        estimates.message_by_message(ring, size, 64 * size, net, 0)

    all_of_them()
    fixed = calls(lambda: estimates.message_by_message(ring, 2, 128, net, 0))
    assert calls(all_of_them) - fixed <= 4 * 2 * (size - 1) * size + 120 * size


def test_a_message_that_cannot_be_taken_holds_up_no_other() -> None:
    """Three land at one instant, and taking the second one is an error."""
    clock, ends = VirtualClock(), dict[int, int]()
    moving, time = medium.Medium(clock, Network(NET)), Past()
    moving.times = time

    class Deaf(End):
        def take(self, message: SimMessage) -> None:
            raise OSError("not this one")

    for number, kind in enumerate((End, Deaf, End)):
        here, there = End(number, time, ends), kind(3 + number, time, ends)
        moving.transmit(SimMessage(moving, here, there, str(number).encode(), b"12"))
    with pytest.raises(OSError, match="not this one"):
        time.queue.advance_until(1 << 62)
    assert [*ends] == [0]
    time.queue.advance_until(1 << 62)
    assert [*ends] == [0, 2] and ends[0] == ends[2]
    assert [moving.counters[3 + number].bytes_received for number in range(3)] == [2, 2, 2]


def test_ways_that_are_forgotten_are_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def everybody_to_everybody(node: SimulatedNode) -> int:
        for step in range(1, node.world_size):
            node.exchange((node.rank + step) % node.world_size, bytes(100), (node.rank - step) % node.world_size)
        return node.now()

    whole = nodes.run(everybody_to_everybody, 5, NET)
    for kept in (1, 2, 7):
        monkeypatch.setattr(medium, "MOST_WAYS", kept)
        again = nodes.run(everybody_to_everybody, 5, NET)
        assert again.digest == whole.digest and again.results == whole.results
        assert again.ranks == whole.ranks


@pytest.mark.parametrize("args", [(), (7,), (None,), (7, 8)])
@pytest.mark.parametrize("kwargs", [{}, {"last": 9}])
def test_a_program_gets_its_arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """A single one is bound as a method's `self` is."""

    def program(*args: Any, **kwargs: Any) -> Any:
        return args, kwargs

    assert sim.run(program, 2, args, kwargs).results == [(args, kwargs)] * 2


def room_of_waiting(ranks: int) -> int:
    """Bytes of Python's memory when the last of so many ranks comes to a collective, in which the others wait."""
    came: list[int] = []

    def program() -> None:
        came.append(tracemalloc.get_traced_memory()[0])
        dist.all_reduce(torch.ones(1))

    tracemalloc.start()
    try:
        sim.run(program, ranks, engine="lockstep")
    finally:
        tracemalloc.stop()
    return came[-1]


@needs_fast_forms
def test_a_rank_that_waits_takes_little_room() -> None:
    """With 100,000 ranks each kilobyte of one is 100 MB. A greenlet keeps its part of C's stack, which is counted, too."""
    room_of_waiting(8)  # what is made only once
    assert (room_of_waiting(192) - room_of_waiting(64)) / 128 <= LITTLE
