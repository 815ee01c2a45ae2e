"""What is going to happen in virtual time, and the jump to it.

    events    a message lands, a sleep ends                    (instant, counter, what to do)
    timers    a strand gives up waiting                        (instant, counter, strand)

Two heaps, ties broken by the counter; at one instant events come before timers, so what arrives at
the very end of a timeout is in time. Timers are lazy: most waits end long before, so a strand has
one entry that is moved when its instant comes, instead of one for each time that it waits.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush, heapreplace
from itertools import count
from typing import Protocol

from transports.clock import picoseconds
from transports.errors import DistError
from transports.quantities import in_words
from transports.strands import Strand

PATIENCE = 100_000  # timeouts in a row, with nothing else happening, before nobody is believed


class Ready(Protocol):
    def append(self, strand: Strand, /) -> None: ...


class Agenda:
    """`endless` and `limit`, in seconds, are those of `VirtualClock`."""

    def __init__(self, ready: Ready, endless: float | None, limit: float | None) -> None:
        self.now = 0
        self.happened = 0  # events
        self._ready = ready
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._timers: list[tuple[int, int, Strand]] = []
        self._counter = count()
        self._endless = None if endless is None else picoseconds(endless)
        self._limit = None if limit is None else picoseconds(limit)
        self._gave_up = 0  # in a row

    def at(self, instant: int, act: Callable[[], None]) -> None:
        """Let `act` happen."""
        heappush(self._events, (instant, next(self._counter), act))

    def arm(self, strand: Strand, timeout: int) -> None:
        """Let a parked strand give up after `timeout`, unless it is woken before."""
        strand.deadline = deadline = self.now + timeout
        strand.is_endless = self._endless is not None and timeout >= self._endless
        if strand.timer is None or deadline < strand.timer:
            strand.timer = deadline
            heappush(self._timers, (deadline, next(self._counter), strand))

    def advance(self) -> bool:
        """Go to the next instant at which something happens, and let it all happen; False if there
        is none. What an event raises is raised here; the rest of the instant comes next time."""
        events, timer = self._events, self._next_timer()
        if timer is not None and (not events or timer < events[0][0]):
            if not events and self._is_hopeless():
                return False
            self._move_to(timer)
            return self._give_up(timer)
        if not events:
            return False
        instant = events[0][0]
        self._move_to(instant)
        self._gave_up = 0
        while events and events[0][0] == instant:
            act = heappop(events)[2]
            self.happened += 1
            act()
        return True

    def clear(self) -> None:
        """Nothing of all that will happen."""
        self._events.clear()
        self._timers.clear()
        self._gave_up = 0

    def _move_to(self, instant: int) -> None:
        if self._limit is not None and instant > self._limit:
            raise DistError(f"the simulation ran beyond its limit, {in_words(self._limit)}")
        self.now = instant

    def _next_timer(self) -> int | None:
        """When the next waiting strand gives up; entries that say nothing any more are dropped."""
        timers = self._timers
        while timers:
            instant, _, strand = timers[0]
            if strand.timer != instant:
                heappop(timers)
            elif strand.deadline is None or not strand.is_parked:
                heappop(timers)
                strand.timer = None
            elif strand.deadline > instant:
                strand.timer = strand.deadline
                heapreplace(timers, (strand.deadline, next(self._counter), strand))
            else:
                return instant
        return None

    def _give_up(self, instant: int) -> bool:
        """All who wait until `instant` go on without what they waited for."""
        self._gave_up += 1
        if self._gave_up > PATIENCE:
            self._gave_up = 0
            return False
        while self._next_timer() == instant:
            strand = heappop(self._timers)[2]
            strand.timer = None
            strand.is_parked = False
            self._ready.append(strand)
        return True

    def _is_hopeless(self) -> bool:
        """Whether all that is left is that endless waits end."""
        waiting = (s for _, _, s in self._timers if s.is_parked and s.deadline is not None)
        return all(strand.is_endless for strand in waiting)

    def __repr__(self) -> str:
        return f"<Agenda at {self.now} ps, {len(self._events)} events to come>"
