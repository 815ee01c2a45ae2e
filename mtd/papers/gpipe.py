"""P5: how much faster more accelerators make GPipe: its Transformer, from the order carried out in time."""

from __future__ import annotations

from collections.abc import Sequence

from minitorch_dist.distributed.pipelining.orders import ORDERS, Pipe, everyones
from minitorch_dist.distributed.pipelining.timing import times
from mtd.papers.paper import Row


def _duration(stages: int, count: int) -> float:
    """Of a step: a stage is 1/stages of the model, and a micro-batch 1/count of the batch."""
    pipe = Pipe(stages, count)
    return times(everyones(ORDERS["gpipe"], pipe), pipe).total / (stages * count)


def rows() -> Sequence[Row]:
    unit = _duration(2, 1)
    return [
        Row(f"Transformer, K={stages}, M=32", published, unit / _duration(stages, 32), 0.08)
        for stages, published in ((2, 1.8), (4, 3.4), (8, 6.3))
    ]
