"""What a schedule costs: messages, bytes, rounds and virtual time.

    >>> print(cost(ring.all_reduce, 4, 4000, Links(1_000_000, 80)))
    ring all_reduce, 4 ranks, 4000 bytes: 6 rounds, 24 messages, at most 6000 bytes from a rank, 6.480 µs

The bill is drawn up for all ranks at once (see `ports`), from the schedule's data alone. A ring of
10,000 ranks, two hundred million messages, takes 0.05 s where its chunks are equal, 0.5 s otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

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
        """How many messages follow each other: the time if each takes 1 and bytes are free."""
        return cost(self.schedule, self.size, self.nbytes, COUNTING, root=self._root).time

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
    """What `schedule` costs for a vector of `nbytes` (see `Schedule.sizes` for whose).

    `entry` is when each rank begins, in picoseconds; `rank` may be a plain array of all ranks,
    which gives the same result in more time.
    """
    ports = Ports(schedule, size, nbytes // itemsize, itemsize, links or Links(), entry)
    ranks = Everyone(size) if rank is None else rank
    for step in schedule(ranks, size, root):
        ports.take(step)
    ports.check_end()
    return Cost(
        schedule, size, nbytes, ports.messages,
        ports.spread(ports.sent), ports.spread(ports.clock), root,
    )  # fmt: skip


def latest(schedule: Schedule, size: int, nbytes: int, links: Links) -> Iterator[int]:
    """The bill while it is drawn up: after each step the latest clock. The last one is `Cost.time`."""
    ports = Ports(schedule, size, nbytes, 1, links, 0)
    for step in schedule.everyone(size):
        ports.take(step)
        yield int(np.max(ports.clock))
    ports.check_end()
