"""P14: the time of a ring all_reduce hardly depends on how many ranks there are."""

from __future__ import annotations

from collections.abc import Sequence

import minitorch_dist as torch
from minitorch_dist import distributed as dist
from minitorch_dist.distributed.schedules.choice import named
from minitorch_dist.sim import nets
from minitorch_dist.sim.runner import run
from mtd import estimates
from mtd.papers.paper import Row
from transports.virtual.clock import has_greenlets

COUNT = 12_000  # divisible by all sizes below; float32
RANKS_RUN = "greenlet" if has_greenlets() else "threads"  # message by message
NET = nets.Hockney(0, "100Gb/s")  # n ≫ pα/β


def _all_reduce() -> None:
    dist.all_reduce(torch.zeros(COUNT), algorithm="ring")


def rows() -> Sequence[Row]:
    two = run(_all_reduce, 2, net=NET).time
    found = []
    for size in (2, 3, 4, 8, 16, 60):  # message by message, by ranks that run
        time = run(_all_reduce, size, net=NET, engine=RANKS_RUN).time
        found.append(Row(f"T({size}) / T(2), ranks run", 2 * (size - 1) / size, time / two, 1e-12))
    ring = named("all_reduce", "ring")
    for size in (100, 1000, 10_000):  # all ranks at once
        nbytes = 40_000_000
        ratio = estimates.estimate(ring, size, nbytes, NET).time
        ratio_two = estimates.estimate(ring, 2, nbytes, NET).time
        found.append(Row(f"T({size}) / T(2), lockstep", 2 * (size - 1) / size, ratio / ratio_two, 1e-12))
    return found
