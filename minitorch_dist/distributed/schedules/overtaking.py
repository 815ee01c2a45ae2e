"""The clocks of one collective, message by message, where messages overtake each other.

    land, go on      at an instant first whatever lets ranks go on,
    arrive           then what has come to the ports meanwhile, by the senders' ranks

The same as a network does (`transports.virtual.medium`), without ranks that run, and without
messages: each is an entry in a heap. Where many ranks are alike, `batched_overtaking` does it
by instants.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from heapq import heappop, heappush
from typing import Any

import numpy as np

from minitorch_dist.distributed.schedules.links import Links
from minitorch_dist.distributed.schedules.ports import Integers, Outcome, PortTimes
from minitorch_dist.distributed.schedules.schedule import Schedule, ScheduleError
from minitorch_dist.distributed.schedules.steps import PlainStep

GO_ON, ARRIVE = 0, 1


def play(schedule: Schedule, sizes: Integers, links: Links, standing: PortTimes, root: int | None = None) -> Outcome:
    """Play it to the end, message by message."""
    played = _Play(schedule, sizes, links, standing, root)
    played.run()
    found = played.clock, played.tx, played.rx, played.first, played.last
    return tuple(np.array(numbers, np.int64) for numbers in found)  # type: ignore[return-value]


NEVER = 1 << 60


class _Play:
    def __init__(
        self, schedule: Schedule, sizes: Integers, links: Links, standing: PortTimes, root: int | None
    ) -> None:
        self.size = len(standing.clock)
        self.schedule, self.links = schedule, links
        self.sizes = [int(nbytes) for nbytes in sizes]
        self.clock, self.tx, self.rx = (numbers.tolist() for numbers in standing)
        self.steps: list[Iterator[PlainStep]] = [schedule.plain(rank, self.size, root) for rank in range(self.size)]
        self.waits: list[PlainStep | None] = [None] * self.size  # the step in which a rank waits
        self.landed: dict[tuple[int, int], deque[int]] = {}  # lengths, by (source, rank)
        self.heap: list[tuple[int, int, int, int, Any]] = []
        self.count = 0
        self.first, self.last = [NEVER] * self.size, [-1] * self.size

    def run(self) -> None:
        for rank, instant in enumerate(self.clock):
            self._at(instant, GO_ON, rank, (rank, None))
        while self.heap:
            instant, kind, _, _, what = heappop(self.heap)
            if kind == GO_ON:
                self._go_on(instant, *what)
                continue
            arrived = [what]  # all of this instant, before anything that follows from it
            while self.heap and self.heap[0][:2] == (instant, ARRIVE):
                arrived.append(heappop(self.heap)[4])
            for source, to, nbytes, hold in arrived:
                self.first[to] = min(self.first[to], instant)
                self.last[to] = instant
                self.rx[to] = max(instant, self.rx[to]) + hold
                self._at(self.rx[to], GO_ON, to, (to, (source, nbytes)))
        waiting = [rank for rank in range(self.size) if self.waits[rank] is not None]
        if waiting:
            raise ScheduleError(f"{self.schedule} stands still: ranks {waiting} wait for ever")

    def _at(self, instant: int, kind: int, order: int, what: Any) -> None:
        self.count += 1
        heappush(self.heap, (instant, kind, order, self.count, what))

    def _go_on(self, now: int, rank: int, landed: tuple[int, int] | None) -> None:
        """A rank can perhaps go on: a message has landed, or it has added one up."""
        if landed is not None:
            self.landed.setdefault((landed[0], rank), deque()).append(landed[1])
            waited = self.waits[rank]
            if waited is None or waited.source != landed[0]:
                return
        if self.clock[rank] > now:
            return
        self.clock[rank] = now
        while True:
            step = self.waits[rank]
            if step is None:
                step = next(self.steps[rank], None)
                if step is None:
                    return
                if step.to is not None:
                    self._send(rank, step.to, self._bytes(step.sent))
                if step.source is None:
                    if step.reduce and self._adds(rank, self._bytes(step.sent)):
                        return
                    continue
                self.waits[rank] = step
            assert step.source is not None
            letters = self.landed.get((step.source, rank))
            if not letters:
                return
            nbytes, self.waits[rank] = letters.popleft(), None
            if self._adds(rank, nbytes if step.reduce else 0):
                return

    def _adds(self, rank: int, nbytes: int) -> bool:
        """Whether the rank is busy with adding, and will go on later."""
        span = self.links.gamma * nbytes
        if span:
            self.clock[rank] += span
            self._at(self.clock[rank], GO_ON, rank, (rank, None))
        return span > 0

    def _send(self, rank: int, to: int, nbytes: int) -> None:
        hold = int(self.links.occupancy(rank, to, nbytes))
        start = max(self.clock[rank], self.tx[rank])
        self.tx[rank] = start + hold
        self._at(start + int(self.links.delay(rank, to)), ARRIVE, rank, (rank, to, nbytes, hold))

    def _bytes(self, chunks: list[int]) -> int:
        return sum(self.sizes[chunk % len(self.sizes)] for chunk in chunks)
