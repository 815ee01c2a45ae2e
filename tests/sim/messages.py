"""Messages without bytes that pass a network, and the instants at which they are there."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import partial

from transports.virtual.clock import VirtualClock
from transports.virtual.event_queue import EventQueue
from transports.virtual.medium import Medium, SimMessage
from transports.virtual.network import Network
from transports.virtual.topology import Topology

Letter = tuple[int, int, int, int]  # from, to, bytes, the instant at which it leaves


class Past:
    """A time for messages alone."""

    def __init__(self) -> None:
        self.queue = EventQueue(deque(), None, None)
        self.at, self.settle = self.queue.at, self.queue.settle

    def now(self) -> int:
        return self.queue.now


class End:
    """A rank that only looks when messages come."""

    def __init__(self, rank: int, time: Past, ends: dict[int, int]) -> None:
        self.rank, self.time, self.ends = rank, time, ends

    def take(self, message: SimMessage) -> None:
        self.ends[int(message.header)] = self.time.now()

    def landed(self, message: SimMessage) -> None:
        pass

    def lose(self, peer: int, why: str) -> None:
        raise AssertionError

    def kill(self, why: str) -> None:
        raise AssertionError


def ends_of(net: Topology, letters: Sequence[Letter]) -> list[int]:
    """When each of these messages is there."""
    medium, time = Medium(VirtualClock(), Network(net)), Past()
    medium.times = time
    ends: dict[int, int] = {}
    for number, (src, dst, nbytes, start) in enumerate(letters):
        here, there = End(src, time, ends), End(dst, time, ends)
        message = SimMessage(medium, here, there, str(number).encode(), b"")
        message.nbytes = nbytes
        time.at(start, partial(medium.transmit, message))
    time.queue.advance_until(1 << 62)
    assert not medium.is_moving
    return [ends[number] for number in range(len(letters))]
