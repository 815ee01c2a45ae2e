"""P16: which bandwidth an all_reduce of 100 MB within the backward pass needs."""

from __future__ import annotations

from collections.abc import Sequence

from minitorch_dist.distributed.schedules.choice import named
from minitorch_dist.sim import nets
from mtd import estimates
from mtd.papers.paper import Row


def rows() -> Sequence[Row]:
    ours = estimates.estimate(named("all_reduce", "ring"), 2000, 100_000_000, nets.Hockney(0, "12.8Gb/s"))
    return [
        Row("time at 12.8 Gb/s", 0.125, ours.time / 1e12, 1e-3, "s"),
        Row("bytes sent by a rank, within 125 ms", 1600e6, ours.max_sent / 0.125, 1e-3, "B/s"),
    ]
