"""P4: how long pipelines idle: the formulas of GPipe and Megatron-LM, from orders carried out in time."""

from __future__ import annotations

from collections.abc import Sequence

from minitorch_dist.distributed.pipelining.orders import ORDERS, Pipe, everyones
from minitorch_dist.distributed.pipelining.timing import Timing, times
from mtd.papers.paper import Row

PIPES = ((4, 4), (4, 8), (8, 8), (8, 32), (16, 64))


def _timed(name: str, pipe: Pipe) -> Timing:
    return times(everyones(ORDERS[name], pipe), pipe)


def rows() -> Sequence[Row]:
    found = []
    for ranks, count in PIPES:
        at = f"p={ranks}, m={count}"
        gpipe, other = (_timed(name, Pipe(ranks, count)) for name in ("gpipe", "1f1b"))
        idle = (gpipe.total - gpipe.busy(0)) / gpipe.total
        found += [
            Row(f"GPipe (K-1)/(M+K-1), {at}", (ranks - 1) / (count + ranks - 1), idle, 1e-12),
            Row(f"1F1B (p-1)/m, {at}", (ranks - 1) / count, float(other.bubble), 1e-12),
            Row(f"GPipe, micro-batches in flight, {at}", count, gpipe.in_flight(0)),
            Row(f"1F1B, micro-batches in flight, {at}", min(ranks, count), other.in_flight(0)),
        ]
        for local in (2, 4):
            timing = _timed("interleaved", Pipe(ranks, count, local))
            formula = (ranks - 1) / (local * count)
            about = f"interleaved (p-1)/(vm), {at}, v={local}"
            found.append(Row(about, formula, float(timing.bubble), 1e-12))
    return found
