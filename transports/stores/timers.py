"""Instants at which somebody has to be answered: one for each owner, the next one first."""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterator
from itertools import count
from typing import Generic, TypeVar

from transports.clock import ENDLESS, PICO, Clock, picoseconds

Owner = TypeVar("Owner", bound=Hashable)
SLACK = 64  # instants of the past that may lie between the others


class Timers(Generic[Owner]):
    """At most one instant for each owner. To set, to clear and to look costs a logarithm of their number."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ends: dict[Owner, tuple[int, int]] = {}  # the instant, and a number of its own
        self._heap: list[tuple[int, int, Owner]] = []
        self._numbers = count()

    def set(self, owner: Owner, seconds: float) -> None:
        """So long from now; nothing, if that has no end."""
        self._ends.pop(owner, None)
        if seconds < ENDLESS:
            end = self._clock.now() + picoseconds(max(seconds, 0)), next(self._numbers)
            self._ends[owner] = end
            heapq.heappush(self._heap, (*end, owner))
            if len(self._heap) > 2 * len(self._ends) + SLACK:
                self._heap = [(*end, owner) for owner, end in self._ends.items()]
                heapq.heapify(self._heap)

    def clear(self, owner: Owner) -> None:
        self._ends.pop(owner, None)

    def over(self) -> Iterator[Owner]:
        """Those whose instant has come; each is cleared before it is handed out."""
        now = self._clock.now()
        while (first := self._first()) is not None and first[0] <= now:
            del self._ends[first[2]]
            yield first[2]

    def left(self) -> float | None:
        """Seconds until the next instant, or None where there is none."""
        first = self._first()
        return None if first is None else max(0.0, (first[0] - self._clock.now()) / PICO)

    def _first(self) -> tuple[int, int, Owner] | None:
        while self._heap and self._ends.get(self._heap[0][2]) != self._heap[0][:2]:
            heapq.heappop(self._heap)  # it was cleared, or set to another instant
        return self._heap[0] if self._heap else None
