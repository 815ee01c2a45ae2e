"""The values of one collective for all ranks at once, bit for bit as their messages would add them up.

`held[rank]` is what a rank has of the whole vector, one row each. Messages of one step are gathered
from the rows of their senders and added to those of their receivers, all at once, in the schedule's
order and the lower rank's value first. So the bits are those of the executor over any transport.

A ring's chunk travels round the circle and is added to at each stop. That is said directly, in half
the work (`round_the_ring`); a test says that both agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from minitorch_dist.distributed.reductions import Combine
from minitorch_dist.distributed.schedules.everyone import Everyone
from minitorch_dist.distributed.schedules.schedule import Schedule
from minitorch_dist.distributed.schedules.steps import Chunks, Exchange, Receive, Send, Span

Array = NDArray[Any]
Integers = NDArray[np.int64]
ROOM = 1 << 26  # bytes that are worked on at once


class _Batch(NamedTuple):
    """Messages under way, at most one per sender."""

    source: Integers
    to: Integers
    start: Integers  # of each message in `values`
    length: Integers
    values: Array


def all_reduce(
    schedule: Schedule, vectors: Sequence[Array], sizes: Integers, combine: Combine
) -> list[Array]:
    """Each rank's sum of the vectors (the same one, where the schedule lets all have the same bits).
    `sizes`: elements of each chunk."""
    return _in_pieces(schedule, vectors, sizes, combine, whole=True)


def reduce_scatter(
    schedule: Schedule, vectors: Sequence[Array], sizes: Integers, combine: Combine
) -> list[Array]:
    """Each rank's chunk of the sum."""
    return _in_pieces(schedule, vectors, sizes, combine, whole=False)


def _in_pieces(
    schedule: Schedule, vectors: Sequence[Array], sizes: Integers, combine: Combine, whole: bool
) -> list[Array]:
    """A piece of each chunk at a time, as many elements as there is room for."""
    size, dtype = len(vectors), vectors[0].dtype
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    longest = int(sizes.max(initial=0))
    width = max(1, ROOM // max(1, dtype.itemsize * size * max(1, int((sizes > 0).sum()))))
    if width >= longest:
        held = np.stack(vectors)
        return _parts(_done(schedule, held, sizes, combine, whole), sizes, whole)
    sums = [np.empty(int(offsets[-1] if whole else sizes[rank]), dtype) for rank in range(size)]
    for begin in range(0, longest, width):
        pieces = np.clip(sizes - begin, 0, width)
        columns = _ranges(offsets[:-1] + begin, pieces)
        held = np.stack([vector[columns] for vector in vectors])
        parts = _parts(_done(schedule, held, pieces, combine, whole), pieces, whole)
        for rank, part in enumerate(parts):
            if whole:
                sums[rank][columns] = part
            else:
                sums[rank][begin : begin + len(part)] = part
    return sums


def _done(schedule: Schedule, held: Array, sizes: Integers, combine: Combine, whole: bool) -> Array:
    """What every rank holds in the end; one row for all, where all are alike."""
    with np.errstate(all="ignore"):
        if schedule.name == "ring":
            return round_the_ring(held, sizes, combine)
        return step_by_step(schedule, held, sizes, combine)


def _parts(held: Array, sizes: Integers, whole: bool) -> list[Array]:
    ranks = range(len(sizes))
    rows = len(held)
    if whole:
        return list(held) if rows > 1 else [held[0]] * len(sizes)
    ends = np.cumsum(sizes)
    return [held[rank % rows][ends[rank] - sizes[rank] : ends[rank]] for rank in ranks]


def round_the_ring(held: Array, sizes: Integers, combine: Combine) -> Array:
    """Chunk c begins at rank c+1, and is complete at rank c. One row: the sum."""
    size = len(held)
    column = np.arange(held.shape[1])
    chunk = np.repeat(np.arange(len(sizes)), sizes)
    rank = (chunk + 1) % size
    total = held[rank, column]
    for _ in range(size - 1):
        rank += 1
        first = rank == size  # rank 0 comes after the last one, and its value stands first
        rank[first] = 0
        mine = held[rank, column]
        if first.any():
            later = ~first
            total[first] = combine(mine[first], total[first], out=mine[first].copy())
            total[later] = combine(total[later], mine[later], out=mine[later].copy())
        else:
            combine(total, mine, out=total)
    return total[None]


def step_by_step(schedule: Schedule, held: Array, sizes: Integers, combine: Combine) -> Array:
    """Any schedule. One row for each rank, scratch cut off."""
    fold = _Fold(schedule, held, sizes, combine)
    for step in schedule(Everyone(len(held)), len(held)):
        fold.take(step)
    return fold.held.reshape(len(held), -1)[:, : held.shape[1]]


class _Fold:
    def __init__(self, schedule: Schedule, held: Array, sizes: Integers, combine: Combine) -> None:
        self.size, self.combine = len(held), combine
        self.total = schedule.total(self.size)
        self.sizes = np.concatenate([sizes, sizes])  # scratch after the chunks
        self.offsets = np.concatenate([[0], np.cumsum(self.sizes)])
        self.width = int(self.offsets[-1])
        rows = np.zeros((self.size, self.width), held.dtype)
        rows[:, : held.shape[1]] = held
        self.held = rows.reshape(-1)
        self.under_way: list[_Batch] = []

    def take(self, step: Any) -> None:
        if step.only is False:
            return
        who = np.arange(self.size) if step.only is True else np.flatnonzero(step.only)
        if not len(who):
            return
        if isinstance(step, Exchange):
            self._send(who, step.to, step.send)
            self._receive(who, step.source, step.receive, step.reduce)
        elif isinstance(step, Send):
            self._send(who, step.to, step.chunks)
        elif isinstance(step, Receive):
            self._receive(who, step.source, step.chunks, step.reduce)
        else:
            of, _ = self._places(who, step.of)
            into, _ = self._places(who, step.into)
            theirs = self.held[of]
            if step.reduce:
                mine = self.held[into]
                self.held[into] = self.combine(mine, theirs, out=mine)
            else:
                self.held[into] = theirs

    def _send(self, who: Integers, to: Any, chunks: Chunks) -> None:
        places, count = self._places(who, chunks)
        start = np.cumsum(count) - count
        self.under_way.append(_Batch(who, _of(to, who), start, count, self.held[places]))

    def _receive(self, who: Integers, source: Any, chunks: Chunks, reduce: bool) -> None:
        source = _of(source, who)
        left = []
        for batch in self.under_way:
            at = np.full(self.size, -1, np.int64)
            at[batch.source] = np.arange(len(batch.source))
            index = at[source]
            found = (index >= 0) & (batch.to[index] == who)
            if found.any():
                taken = index[found]
                values = batch.values
                if not np.array_equal(taken, np.arange(len(batch.source))):
                    values = values[_ranges(batch.start[taken], batch.length[taken])]
                self._put(who[found], source[found], chunks, values, reduce)
                stays = np.ones(len(batch.source), bool)
                stays[taken] = False
                if stays.any():
                    keep = _ranges(batch.start[stays], batch.length[stays])
                    count = batch.length[stays]
                    left.append(
                        _Batch(
                            batch.source[stays], batch.to[stays], np.cumsum(count) - count, count,
                            batch.values[keep],
                        )
                    )  # fmt: skip
                who, source = who[~found], source[~found]
            else:
                left.append(batch)
        self.under_way = left

    def _put(
        self, who: Integers, source: Integers, chunks: Chunks, theirs: Array, reduce: bool
    ) -> None:
        into, count = self._places(who, chunks)
        if not reduce:
            self.held[into] = theirs
            return
        mine = self.held[into]
        first = np.repeat(source < who, count)  # the lower rank's value stands first
        if first.all():
            mine = self.combine(theirs, mine, out=mine)
        elif not first.any():
            mine = self.combine(mine, theirs, out=mine)
        else:
            after = ~first
            mine[first] = self.combine(theirs[first], mine[first], out=theirs[first].copy())
            mine[after] = self.combine(mine[after], theirs[after], out=theirs[after].copy())
        self.held[into] = mine

    def _places(self, who: Integers, chunks: Chunks) -> tuple[Integers, Integers]:
        """The elements of these ranks' chunks, one rank after the other; how many each has."""
        begins, counts = [], []
        for begin, count in self._spans(chunks, who):
            begins.append(begin + who * self.width)
            counts.append(count)
        if not begins:
            return np.empty(0, np.int64), np.zeros(len(who), np.int64)
        if len(begins) == 1:
            return _ranges(begins[0], counts[0]), counts[0]
        return (
            _ranges(np.stack(begins, 1).reshape(-1), np.stack(counts, 1).reshape(-1)),
            np.sum(counts, axis=0),
        )

    def _spans(self, chunks: Chunks, who: Integers) -> list[tuple[Integers, Integers]]:
        """Begin and length, in elements of a row, of each part of a message."""
        if isinstance(chunks, Span):
            start, number = _of(chunks.start, who) % self.total, _of(chunks.count, who)
            before = np.minimum(number, self.total - start)
            spans = [self._span(start, before)]
            if (number > before).any():  # round the end
                spans.append(self._span(np.zeros_like(start), number - before))
            return spans
        if isinstance(chunks, tuple):
            return [span for part in chunks for span in self._spans(part, who)]
        return [self._span(_of(chunks, who), np.ones(len(who), np.int64))]

    def _span(self, start: Integers, number: Integers) -> tuple[Integers, Integers]:
        begin = self.offsets[start]
        return begin, self.offsets[start + number] - begin


def _of(value: Any, who: Integers) -> Integers:
    """The entries of `value`, a number or one per rank, for these ranks."""
    if isinstance(value, Everyone):
        value = value.array()
    value = np.asarray(value, dtype=np.int64)
    return value[who] if value.ndim else np.full(len(who), value)


def _ranges(start: Integers, count: Integers) -> Integers:
    """start[0] … start[0]+count[0]-1, start[1] …, one after the other."""
    ends = np.cumsum(count)
    total = int(ends[-1]) if len(ends) else 0
    return np.repeat(start - (ends - count), count) + np.arange(total)
