"""Measure what this group's messages cost, so that `auto` chooses by the truth.

Three numbers make the model (see `schedules.links`), and three small measurements give them:

    α    one way of an empty message to the right neighbour, while one comes from the left
    β    the same with a megabyte, less α, per byte
    γ    a megabyte added to another, per byte

Every rank measures with its neighbour at the same time, as in a collective. The slowest counts, and
all ranks get the same numbers, because they must all choose the same.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from minitorch_dist.distributed import collectives
from minitorch_dist.distributed.execution.operations import CollectiveOperation
from minitorch_dist.distributed.groups import Group, resolve
from minitorch_dist.distributed.mail.receives import Array
from minitorch_dist.distributed.mail.wire import Fingerprint
from minitorch_dist.distributed.prepared import How, links_of
from minitorch_dist.distributed.reductions import ReduceStep
from minitorch_dist.distributed.schedules.links import Links

LARGE: Final = 1 << 20  # bytes
SHORT_TRIPS: Final = 30
LONG_TRIPS: Final = 5


def measure_links(group: Group | None = None) -> Links:
    """Measure the links of a group, and let this rank's world choose by them from now on.

    All ranks of the group call it. In a world of one there is nothing to measure.
    """
    which = resolve(group)
    if which.size() == 1:
        return links_of(which)
    short = _fastest_trip(which, np.zeros(0, np.uint8), SHORT_TRIPS)
    long = _fastest_trip(which, np.zeros(LARGE, np.uint8), LONG_TRIPS)
    numbers = np.array([short, max(long - short, 0), _adding(which)], np.int64)
    collectives.all_reduce(which, numbers, ReduceStep("max"), How("recursive_doubling"))
    alpha, rest, added = (int(number) for number in numbers)
    links = Links(alpha, max(1, round(rest / LARGE)), round(added / LARGE))
    use_links(which, links)
    return links


def use_links(group: Group, links: Links) -> None:
    """Let this rank's world choose by these links from now on. All ranks must agree on them."""
    group.world.links = links
    for every in group.world.groups.values():
        every.prepared.clear()


def _fastest_trip(group: Group, message: Array, trips: int) -> int:
    """Picoseconds of one way to the right neighbour, while the left one sends as well."""
    clock, rank, size = group.world.clock, group.rank(), group.size()
    right, left = (rank + 1) % size, (rank - 1) % size
    into = np.empty_like(message)
    best = [0]

    def body(operation: CollectiveOperation) -> None:
        times = []
        for trip in range(trips):
            start = clock.now()
            receive = operation.receive(left, into, trip + 1)
            operation.send(right, message, trip + 1)
            operation.wait(receive)
            times.append(clock.now() - start)
        best[0] = sorted(times)[len(times) // 2]

    shape = (message.size,)
    group.run(Fingerprint("custom", message.dtype, shape), body)
    return best[0]


def _adding(group: Group) -> int:
    """Picoseconds for a megabyte of float32 added to another. Virtual time knows of none."""
    clock = group.world.clock
    mine, theirs = np.zeros((2, LARGE // 4), np.float32)
    times = []
    for _ in range(LONG_TRIPS):
        start = clock.now()
        np.add(mine, theirs, out=mine)
        times.append(clock.now() - start)
    return min(times)
