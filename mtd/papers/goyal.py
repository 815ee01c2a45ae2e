"""P16: which bandwidth an all_reduce of 100 MB within the backward pass needs."""

from __future__ import annotations

from collections.abc import Sequence

from minitorch_dist.distributed.schedules.choice import named
from minitorch_dist.sim import nets
from mtd import estimates
from mtd.papers.paper import Row


def rows() -> Sequence[Row]:
    ring = named("all_reduce", "ring")
    nbytes, size = 100_000_000, 2000
    time = estimates.estimate(ring, size, nbytes, nets.Hockney(0, "12.8Gb/s")).time / 1e12
    sent = estimates.estimate(ring, size, nbytes, nets.Hockney(0, "12.8Gb/s")).max_sent
    return [
        Row("time at 12.8 Gb/s", 0.125, time, 1e-3, "s"),
        Row("bytes sent by a rank, within 125 ms", 1600e6, sent / 0.125, 1e-3, "B/s"),
    ]
