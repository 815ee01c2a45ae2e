"""The events that are going to happen in virtual time, and the jump to the next.

    events    a message lands, a sleep ends            instants in a heap, and what happens at each
    settling  what the instant itself must settle      after all that happens in it, before the next
    timers    a simulated thread gives up waiting                (instant, counter, simulated thread) in a heap

Where ranks are alike much happens at one instant, so events are kept by instants. The heap has one entry
for all of them, and they happen in the order in which they were entered. At one instant events come before
timers, so what arrives at the very end of a timeout is in time. Timers are lazy, because most waits end
long before. A simulated thread has one entry that is moved when its instant comes, instead of one for each
time that it waits.

The actions of several ranks at the same instant are simulated one after the other, and that order must not
show in the times. `settle` is for that. Messages that leave or arrive at one instant are first collected.
They take their ports when nobody has anything left to do in it (see `medium`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from heapq import heappop, heappush, heapreplace
from itertools import count
from math import inf
from typing import Protocol

from transports.clock import picoseconds
from transports.errors import DistError, Livelock
from transports.quantities import in_words
from transports.virtual.sim_thread import SimThread

PATIENCE = 100_000  # timeouts in a row, with nothing else to come, before nobody is believed


class Runnable(Protocol):
    def append(self, sim_thread: SimThread, /) -> None: ...


class Timeline(Protocol):
    """The part that lets something happen in time; a clock has it."""

    @property
    def at(self) -> Callable[[int, Callable[[], None]], None]: ...
    def now(self) -> int: ...
    def settle(self, act: Callable[[], None]) -> None: ...


class EventQueue:
    """`endless` and `limit`, in seconds, and `events` are those of `VirtualClock`."""

    def __init__(self, ready: Runnable, endless: float | None, limit: float | None, events: int | None = None) -> None:
        self.now = 0
        self.happened = 0  # events
        self._ready = ready
        self._instants: list[int] = []  # a heap
        self._events: dict[int, deque[Callable[[], None]]] = {}  # by instant
        self._settling: list[Callable[[], None]] = []
        self._timers: list[tuple[int, int, SimThread]] = []
        self._counter = count()
        self._endless = None if endless is None else picoseconds(endless)
        self._limit = None if limit is None else picoseconds(limit)
        self._most = inf if events is None else events
        self._gave_up = 0  # in a row

    def at(self, instant: int, act: Callable[[], None]) -> None:
        """Let `act` happen."""
        events = self._events.get(instant)
        if events is None:
            self._events[instant] = deque((act,))
            heappush(self._instants, instant)
        else:
            events.append(act)

    def settle(self, act: Callable[[], None]) -> None:
        """Let `act` happen at the end of this instant, when nobody has anything left to do in it."""
        self._settling.append(act)

    def arm(self, sim_thread: SimThread, timeout: int) -> None:
        """Let a parked simulated thread give up after `timeout`, unless it is woken before."""
        sim_thread.deadline = deadline = self.now + timeout
        sim_thread.is_endless = self._endless is not None and timeout >= self._endless
        if sim_thread.timer is None or deadline < sim_thread.timer:
            sim_thread.timer = deadline
            heappush(self._timers, (deadline, next(self._counter), sim_thread))

    def advance(self) -> bool:
        """Go to the next instant at which something happens, and let it all happen; False if there
        is none. An exception of an event is raised here; the rest of the instant comes next time."""
        if self._settling:
            settling, self._settling = self._settling, []
            for act in settling:
                act()
            return True
        instants, timer = self._instants, self._next_timer()
        if timer is not None and (not instants or timer < instants[0]):
            if not instants and self._is_hopeless():
                return False
            self._move_to(timer)
            return self._give_up(timer)
        if not instants:
            return False
        instant = instants[0]
        self._move_to(instant)
        self._gave_up = 0
        if self.happened > self._most:
            self._most += self.happened  # a program that catches it may go on
            raise Livelock(
                f"livelock: {self.happened} events happened until {in_words(instant)}, and no end is in "
                "sight. Look for a loop in which ranks answer each other for ever, or raise the limit (events=…)"
            )
        events = self._events[instant]
        try:
            while events:
                act = events.popleft()
                self.happened += 1
                act()
        finally:
            if not events and instants and instants[0] == instant:
                heappop(instants)
                del self._events[instant]
        return True

    def advance_until(self, instant: int) -> None:
        """Let all happen that happens before `instant`."""
        while self._settling or (self._instants and self._instants[0] < instant):
            self.advance()

    def leave(self) -> Iterator[tuple[int, Callable[[], None]]]:
        """All that is going to happen, in its order; somebody else sees to it."""
        while self._instants:
            instant = heappop(self._instants)
            yield from ((instant, act) for act in self._events.pop(instant))

    def is_idle(self) -> bool:
        """Whether nothing will happen but that some give up waiting."""
        return not (self._settling or self._instants)

    def clear(self) -> None:
        """Nothing of all that will happen."""
        self._instants.clear()
        self._events.clear()
        self._settling.clear()
        self._timers.clear()
        self._gave_up = 0

    def _move_to(self, instant: int) -> None:
        if self._limit is not None and instant > self._limit:
            raise DistError(f"the simulation ran beyond its limit, {in_words(self._limit)} of virtual time")
        self.now = instant

    def _next_timer(self) -> int | None:
        """When the next waiting simulated thread gives up; entries that say nothing any more are dropped."""
        timers = self._timers
        while timers:
            instant, _, sim_thread = timers[0]
            if sim_thread.timer != instant:
                heappop(timers)
            elif sim_thread.deadline is None or not sim_thread.is_parked:
                heappop(timers)
                sim_thread.timer = None
            elif sim_thread.deadline > instant:
                sim_thread.timer = sim_thread.deadline
                heapreplace(timers, (sim_thread.deadline, next(self._counter), sim_thread))
            else:
                return instant
        return None

    def _give_up(self, instant: int) -> bool:
        """All who wait until `instant` go on without what they waited for."""
        self._gave_up += not self._instants  # else something is coming, however late
        if self._gave_up > PATIENCE:
            self._gave_up = 0
            return False
        while self._next_timer() == instant:
            sim_thread = heappop(self._timers)[2]
            sim_thread.timer = None
            sim_thread.is_parked = False
            self._ready.append(sim_thread)
        return True

    def _is_hopeless(self) -> bool:
        """Whether all that is left is that endless waits end."""
        waiting = (s for _, _, s in self._timers if s.is_parked and s.deadline is not None)
        return all(sim_thread.is_endless for sim_thread in waiting)
