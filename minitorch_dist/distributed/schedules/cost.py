"""The cost of a schedule: messages, bytes, rounds and virtual time.

    >>> print(cost(ring.all_reduce, 4, 4000, Links(1_000_000, 80)))
    ring all_reduce, 4 ranks, 4000 bytes: 6 rounds, 24 messages, at most 6000 bytes from a rank, 6.480 µs

The bill is drawn up for all ranks at once (see `ports`), from the schedule's data alone. A ring of
10,000 ranks, two hundred million messages, takes 0.05 s where its chunks are equal, 0.5 s otherwise.

Ports serve messages as they come, as those of the simulated network do: a bill is what a run takes, to
the picosecond. A schedule whose messages overtake each other is played (see `arrivals`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from minitorch_dist.distributed.schedules.arrivals import Arrivals, Overtaken, played
from minitorch_dist.distributed.schedules.everyone import Everyone
from minitorch_dist.distributed.schedules.links import COUNTING, Links
from minitorch_dist.distributed.schedules.ports import Integers, Numbers, Ports
from minitorch_dist.distributed.schedules.schedule import Schedule
from minitorch_dist.distributed.schedules.steps import Rank


@dataclass(frozen=True)
class Cost:
    """The bill. Times in picoseconds, `sent` and `finish` with one entry per rank."""

    schedule: Schedule
    size: int
    nbytes: int
    messages: int
    sent: Integers
    finish: Integers

    @property
    def time(self) -> int:
        """Until the last rank is done."""
        return int(self.finish.max())

    @property
    def max_sent(self) -> int:
        """Bytes sent by the rank that sends most."""
        return int(self.sent.max())

    @cached_property
    def rounds(self) -> int:
        """How many messages follow each other, as textbooks count. It is the time if each takes 1, bytes are
        free, and a port serves messages in the order in which its rank asks for them.
        """
        return textbook_time(self.schedule, self.size, self.nbytes, COUNTING, self._root)

    _root: int | None = None

    def __str__(self) -> str:
        return (
            f"{self.schedule}, {self.size} ranks, {self.nbytes} bytes: {self.rounds} rounds, "
            f"{self.messages} messages, at most {self.max_sent} bytes from a rank, "
            f"{self.time / 1e6:.3f} µs"
        )


def cost(
    schedule: Schedule,
    size: int,
    nbytes: int,
    links: Links | None = None,
    *,
    itemsize: int = 1,
    root: int | None = None,
    entry: Numbers = 0,
    rank: Rank = None,
) -> Cost:
    """The cost of `schedule` for a vector of `nbytes` (see `Schedule.sizes` for whose).

    `entry` is when each rank begins, in picoseconds; `rank` may be a plain array of all ranks,
    which gives the same result in more time.
    """
    links, count = links or Links(), nbytes // itemsize
    ranks = Everyone(size) if rank is None else rank
    ports: Ports = Arrivals(schedule, size, count, links, entry, itemsize=itemsize)
    try:
        _take(ports, schedule(ranks, size, root))
        finish = ports.clock
    except Overtaken:
        ports = Ports(schedule, size, count, itemsize, links, entry)  # counts what is sent
        _take(ports, schedule(ranks, size, root))
        finish = played(ports, entry, root)
    return Cost(schedule, size, nbytes, ports.messages, ports.spread(ports.sent), ports.spread(finish), root)


def _take(ports: Ports, steps: Iterable[Any]) -> None:
    for step in steps:
        ports.take(step)
    ports.check_end()


def textbook_time(schedule: Schedule, size: int, nbytes: int, links: Links, root: int | None = None) -> int:
    """The formula's time: a port serves messages in the order in which its rank asks for them."""
    ports = Ports(schedule, size, nbytes, 1, links, 0)
    _take(ports, schedule.everyone(size, root))
    return int(np.max(ports.clock))
