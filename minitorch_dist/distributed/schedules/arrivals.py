"""Clocks and ports where messages may overtake: `ports`, with a check of the order of arrivals.

A port of a network serves messages as they come, `ports` as their receiver asks for them. While they
come in the order in which they are asked for, both give the same picoseconds, and vectors over the
ranks are enough. One may come earlier: a rank beyond a power of two folds while its partner is a step
ahead, or two trees share a port. Then the clocks are found message by message. `overtaking` does this in a
loop, the simple form. `batched_overtaking` does all of one instant in one go.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from minitorch_dist.distributed.schedules import batched_overtaking, overtaking
from minitorch_dist.distributed.schedules.links import Links
from minitorch_dist.distributed.schedules.ports import Integers, Numbers, Outcome, Ports, PortTimes
from minitorch_dist.distributed.schedules.schedule import Schedule

FEW = 8  # ranks at one instant, on average, that are worth a vector operation
NEVER = 1 << 60  # picoseconds: 13 days


class Overtaken(Exception):
    """A message reaches a port before one that is asked for earlier."""


class Arrivals(Ports):
    """`Ports` that begin as they are, and see to the order of arrivals."""

    def __init__(
        self,
        schedule: Schedule,
        size: int,
        count: int,
        links: Links,
        entry: Numbers,
        tx: Numbers = 0,
        rx: Numbers = 0,
        itemsize: int = 1,
    ) -> None:
        super().__init__(schedule, size, count, itemsize, links, entry)
        self.tx, self.rx = tx, rx
        self.first = np.full(size, NEVER, np.int64)  # arrival at each port
        self._has_first = False
        self._last: Numbers = -1  # at each port, the arrival of what was asked for last,
        self._from: Any = -1  # and whose it was,
        self._turned_by = 0  # or how far round, where everybody's came from as far

    @property
    def last(self) -> Integers:
        return self.spread(self._last)

    def _arrive(self, who: Integers | None, source: Any, arrival: Numbers) -> None:
        if not self._has_first:
            where = self.everyone if who is None else who
            self.first[where] = np.minimum(self.first[where], arrival)
            self._has_first = who is None
        if who is None:
            if source == self._turned_by:  # messages of one rank cannot overtake each other
                self._last = arrival
                return
            alike = isinstance(arrival, int) and isinstance(self._last, int)
            if alike and arrival > self._last:
                self._last, self._turned_by = arrival, source
                return
            who, places = self.everyone, source
            source, arrival = (self.everyone + source) % self.size, self.spread(arrival)
        else:
            places = 0
        if self._turned_by:
            self._from = (self.everyone + self._turned_by) % self.size
        self._turned_by = places
        last, of = self.spread(self._last), self.spread(self._from)
        before = (arrival < last[who]) | ((arrival == last[who]) & (source < of[who]))
        if before.any():
            raise Overtaken
        if last is self._last:
            last, of = last.copy(), of.copy()
        last[who], of[who] = arrival, source
        self._last, self._from = last, of


def play(schedule: Schedule, sizes: Integers, links: Links, standing: PortTimes, root: int | None = None) -> Outcome:
    """Message by message; by instants, where many ranks are at the same one."""
    alike = len(np.unique(standing.clock)) * FEW <= len(standing.clock)
    how = batched_overtaking.play if alike else overtaking.play
    return how(schedule, sizes, links, standing, root)


def played(of: Ports, entry: Numbers, root: int | None = None) -> Integers:
    """When each rank is done, where all ports are free at first."""
    free = PortTimes.free(of.size)
    return play(of.schedule, of.sizes, of.links, free._replace(clock=free.clock + entry), root)[0]


def latest(schedule: Schedule, size: int, nbytes: int, links: Links) -> Iterator[int]:
    """The bill while it is drawn up: after each step the latest clock. The last one is `Cost.time`."""
    ports = Arrivals(schedule, size, nbytes, links, 0)
    now = 0
    try:
        for step in schedule.everyone(size):
            ports.take(step)
            now = int(np.max(ports.clock))
            yield now
        ports.check_end()
    except Overtaken:
        yield now  # nobody plays it before all others are later than this
        yield int(played(ports, 0).max())
