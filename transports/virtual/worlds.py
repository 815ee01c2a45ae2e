"""How the ranks of one simulated world find each other: through the store, with one command each.

    the first to come    writes down its own world's number, which nobody else has
    all others           read it, and are in the same simulation if they hold that world

A rank that holds another number shares nothing with this world: it is in another process, or under another
clock.
"""

from __future__ import annotations

import os
from itertools import count
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

from transports import rendezvous
from transports.clock import picoseconds
from transports.contract import Store, Transport
from transports.errors import ConnectError
from transports.virtual.clock import VirtualClock
from transports.virtual.inboxes import Waiting
from transports.virtual.sim_thread import SimThread

E = TypeVar("E", bound=Transport)

PROCESS = os.urandom(8).hex()
_worlds: WeakValueDictionary[str, ConnectedEnds] = WeakValueDictionary()  # type: ignore[type-arg]
_number = count()


class ConnectedEnds(Generic[E]):
    """The ends that connected through one store."""

    def __init__(self, name: str, size: int) -> None:
        self.name, self.size = name, size
        self.ends: dict[int, E] = {}
        self.gathering: list[SimThread] = []
        self.waiting: dict[E, None] = {}  # ends at which somebody waits, in order
        self.departed: list[tuple[int, str]] = []  # the ranks that have left, in order, and why

    def missing(self) -> list[int]:
        return [rank for rank in range(self.size) if rank not in self.ends]

    def gather(self, end: E, clock: VirtualClock, timeout: float | None) -> None:
        """Return when all have come; ConnectError names those that have not. The last one lets all go on."""
        if len(self.ends) == self.size:
            for sim_thread in self.gathering:
                clock.wake(sim_thread)
            return clock.poll(gives_way=True)  # the rank that came first shall also go first
        deadline = clock.deadline(timeout)
        while len(self.ends) < self.size:
            if deadline.is_over():
                raise rendezvous.missed(end.scheme, end.rank, self.size, self.missing(), timeout or 0.0)
            self.gathering.append(clock.me())
            left = deadline.left()
            clock.park(None if left is None else picoseconds(left), lambda: Waiting(tuple(self.missing()), "connect"))


def find(end: E, store: Store) -> ConnectedEnds[E]:
    """The world of those who meet at this store."""
    own = f"{PROCESS} {next(_number)}"
    name = store.compare_set("sim/world", "", own).decode()
    world: ConnectedEnds[E]
    if name == own:
        world = _worlds[own] = ConnectedEnds(own, end.world_size)
    else:
        found = _worlds.get(name)
        if found is None or next(iter(found.ends.values())).clock is not end.clock:
            raise ConnectError(
                f"rank {end.rank} is not in the simulation of the other ranks: sim:// joins the "
                "threads of one VirtualClock. Between processes use tcp://, or file://"
            )
        world = found
    if world.size != end.world_size:
        raise ConnectError(f"rank {end.rank} expects a world of {end.world_size}, but others one of {world.size}")
    return world
