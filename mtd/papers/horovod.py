"""P11: how well 512 GPUs scale, between no overlap of communication and computation and all of it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from minitorch_dist.distributed.schedules.choice import named
from mtd import estimates
from mtd.papers.paper import Row, published_rows
from transports.virtual.topology import link, two_level

NODES, GPUS, BATCH, BUCKET = 128, 4, 64, 64 << 20
NET = two_level(NODES, GPUS, link("5us", "10GB/s"), link("5us", "25Gb/s"))


@lru_cache
def _all_reduce(nbytes: int) -> float:
    """Seconds, by our ring in lockstep; neighbours on a node use its fast links."""
    ring = named("all_reduce", "ring")
    return estimates.time_of(ring, NODES * GPUS, nbytes, NET) / 1e12


def _bucketed(nbytes: int, step: float) -> float:
    """A step whose gradients are sent, bucket by bucket, while backward (two thirds of it) goes on."""
    forward, done, ready = step / 3, 0.0, 0.0
    left = nbytes
    while left:
        bucket = min(BUCKET, left)
        left -= bucket
        ready = forward + (nbytes - left) / nbytes * (step - forward)
        done = max(done, ready) + _all_reduce(bucket)
    return max(done, step)


def rows() -> Sequence[Row]:
    found = []
    for name, millions, images, published in published_rows("horovod"):
        nbytes, step = int(4e6 * millions), BATCH / images
        whole = _all_reduce(nbytes)
        low, high = step / (step + whole), step / (step / 3 + max(2 * step / 3, whole))
        found.append(Row(f"{name}, published within ours", published, (low, high)))
        found.append(Row(f"{name}, in buckets", (low, high), step / _bucketed(nbytes, step)))
    return found
