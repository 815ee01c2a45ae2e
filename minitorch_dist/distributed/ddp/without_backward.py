"""Reductions without a backward pass of this rank: for Join, and for what `no_sync` has collected."""

from __future__ import annotations

from minitorch_dist.distributed.ddp import unused
from minitorch_dist.distributed.ddp.reducer import Reducer


def reduce_now(reducer: Reducer) -> None:
    """Average what is in `.grad`, outside of a backward pass; that is no iteration."""
    reducer.restart()
    empty = {n for n, p in enumerate(reducer.parameters) if p._grad is None}
    nowhere = unused.everywhere(reducer.group, empty, len(reducer.parameters))
    for number in range(len(reducer.parameters)):
        reducer.fill(number)
    for bucket in reducer.buckets:
        reducer.send(bucket)
    reducer.take_averages(nowhere)


def shadow(reducer: Reducer) -> None:
    """Answer the collectives of one backward pass of the other ranks, with zeros (see Join).

    The averages are handed out here as well: an optimizer may own parameters on this rank.
    """
    every = set(range(len(reducer.parameters)))
    reducer.restart()
    reducer.order = []
    if reducer.iteration == 0 and not reducer.usage.may_lack:
        unused.gather(reducer.group, set(), len(every))
    for bucket in reducer.buckets:
        bucket.flat.array[...] = 0
        for p, view in zip(bucket.parameters, bucket.views, strict=True):
            if p._grad is view:
                p._grad = None
        reducer.launch(bucket)
    reducer.take_averages(reducer.usage.nowhere(reducer, every))
    reducer.missing = every
    if reducer.iteration == 0:
        reducer.rebuild()
    reducer.iteration += 1
