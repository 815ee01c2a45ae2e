"""The values of one collective for all ranks at once, bit for bit as their messages would add them up.

`held[rank]` is what a rank has of the whole vector, one row each. Messages of one step are gathered from
the rows of their senders and added to those of their receivers, all at once. The order is the schedule's,
with the lower rank's value first. So the bits are those of the executor over any transport.

A ring's chunk travels round the circle and is added to at each stop. That is said directly, in half
the work (`round_the_ring`); a test says that both agree. Where chunks are long, numbers take the values' place, and
tell in which order each chunk is added up. Then the values are added in this order where they lie (`addition_order`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minitorch_dist.distributed.reductions import CombineFunction
from minitorch_dist.distributed.schedules.links import Links
from minitorch_dist.distributed.schedules.ports import Integers, Ports, StepMessages
from minitorch_dist.distributed.schedules.schedule import BUILT_IN, Schedule
from minitorch_dist.distributed.schedules.steps import Chunks, Combine, Exchange, Span
from minitorch_dist.sim.fast.addition_order import PIECE, AdditionOrder

Array = NDArray[Any]
LONG = 256  # elements of a chunk, from which on it is worth to add chunk by chunk
ROOM = 1 << 23  # bytes of all ranks that are worked on at once; beside them stand some copies


def all_reduce(schedule: Schedule, vectors: Sequence[Array], sizes: Integers, combine: CombineFunction) -> None:
    """Each rank's vector becomes the sum of all (the same one, where the schedule lets all have the same bits).
    `sizes`: elements of each chunk."""
    way = _in_order if sizes.mean() >= LONG else _in_pieces
    way(schedule, vectors, vectors, sizes, combine, whole=True)


def reduce_scatter(
    schedule: Schedule, vectors: Sequence[Array], results: Sequence[Array], sizes: Integers, combine: CombineFunction
) -> None:
    """Each rank's result becomes its chunk of the sum."""
    way = _in_order if sizes.mean() >= LONG else _in_pieces
    way(schedule, vectors, results, sizes, combine, whole=False)


def _in_order(
    schedule: Schedule,
    vectors: Sequence[Array],
    results: Sequence[Array],
    sizes: Integers,
    combine: CombineFunction,
    whole: bool,
) -> None:
    """The same with long chunks: as many together as are added up in one order, and of these a piece at a time."""
    size, width = len(vectors), max(1, PIECE // vectors[0].dtype.itemsize)
    order = _order(schedule, size, len(sizes), whole)
    ends = np.cumsum(sizes).tolist()
    begin = 0
    with np.errstate(all="ignore"):
        for chunk, end in enumerate(ends):
            if whole and chunk + 1 < len(ends) and order.are_alike(chunk, chunk + 1):
                continue
            takers = range(size) if whole else [chunk]
            wanted = [order.of(rank, chunk) for rank in takers]
            for start in range(begin, end, width):
                stop = min(start + width, end)
                sums = order.add(frozenset(wanted), [vector[start:stop] for vector in vectors], combine)
                before = 0 if whole else begin
                for rank, number in zip(takers, wanted, strict=True):
                    results[rank][start - before : stop - before] = sums[number]
            begin = end


@lru_cache(maxsize=64)
def _order(schedule: Schedule, size: int, chunks: int, whole: bool) -> AdditionOrder:
    ranks = np.repeat(np.arange(size)[:, None], chunks, axis=1)
    ones = np.ones(chunks, np.int64)
    return AdditionOrder(size, lambda combine: _done(schedule, ranks, ones, combine, whole))


def _in_pieces(
    schedule: Schedule,
    vectors: Sequence[Array],
    results: Sequence[Array],
    sizes: Integers,
    combine: CombineFunction,
    whole: bool,
) -> None:
    """A piece of each chunk at a time, as many elements as there is room for. The result of a piece is written
    before the next one is read, so it may lie in the vectors."""
    size, dtype = len(vectors), vectors[0].dtype
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    longest = int(sizes.max(initial=0))
    width = max(1, ROOM // max(1, dtype.itemsize * size * max(1, int((sizes > 0).sum()))))
    for begin in range(0, longest, width):
        pieces = np.clip(sizes - begin, 0, width)
        is_all = width >= longest
        columns = slice(None) if is_all else _ranges(offsets[:-1] + begin, pieces)
        held = np.stack([vector[columns] for vector in vectors])
        parts = _parts(_done(schedule, held, pieces, combine, whole), pieces, size, whole)
        for result, part in zip(results, parts, strict=True):
            result[columns if whole else slice(begin, begin + len(part))] = part


def _done(schedule: Schedule, held: Array, sizes: Integers, combine: CombineFunction, whole: bool) -> Array:
    """The data that every rank holds in the end; one row for all, where all are alike."""
    with np.errstate(all="ignore"):
        built_in = BUILT_IN.get((schedule.collective, schedule.name))
        is_ours = built_in is not None and built_in.steps is schedule.steps
        if is_ours and schedule.name == "ring":
            return round_the_ring(held, sizes, combine)
        rows = step_by_step(schedule, held, sizes, combine)
        return rows[:1] if is_ours and whole else rows  # all ranks get the same bits: one rank's will do


def _parts(held: Array, sizes: Integers, size: int, whole: bool) -> list[Array]:
    """The data that each rank has in the end."""
    rows = len(held)
    if whole:
        return list(held) if rows > 1 else [held[0]] * size
    ends = np.cumsum(sizes)
    return [held[rank % rows][ends[rank] - sizes[rank] : ends[rank]] for rank in range(size)]


def round_the_ring(held: Array, sizes: Integers, combine: CombineFunction) -> Array:
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


def step_by_step(schedule: Schedule, held: Array, sizes: Integers, combine: CombineFunction) -> Array:
    """Any schedule. One row for each rank, scratch cut off."""
    fold = ValuePorts(schedule, held, sizes, combine)
    for step in schedule.everyone(len(held)):
        fold.take(step)
    return fold.held.reshape(len(held), -1)[:, : held.shape[1]]


class ValuePorts(Ports):
    """The same walk through a schedule as that of the clocks, with values for times."""

    def __init__(self, schedule: Schedule, held: Array, sizes: Integers, combine: CombineFunction) -> None:
        super().__init__(schedule, len(held), 0, 1, Links(), 0)
        self.cut(sizes)  # scratch comes after the chunks
        self.combine = combine
        self.width = int(self.ends[-1])
        rows = np.zeros((self.size, self.width), held.dtype)
        rows[:, : held.shape[1]] = held
        self.held = rows.reshape(-1)
        self.values = self.held[:0]  # of messages under way

    def _goes_round(self, step: Exchange) -> bool:
        return False

    def _send(self, who: Integers, to: Any, chunks: Chunks, step: Any) -> None:
        places = self._places(who, chunks)
        start = len(self.values) + np.cumsum(places.length) - places.length
        self.under_way.append(StepMessages(who, self._of(to, who), places.length, start))
        values = places.take(self.held)
        self.values = np.concatenate([self.values, values]) if len(self.values) else values

    def _receive(self, who: Integers, source: Any, chunks: Chunks, step: Any) -> None:
        source = self._of(source, who)
        theirs = _ElementRanges(*self._pick(who, source, step)).take(self.values)
        if not self.under_way:
            self.values = self.held[:0]
        self._put(who, source, chunks, theirs, step.reduce)

    def _combine(self, who: Integers, step: Combine) -> None:
        into = self._places(who, step.into)
        theirs = self._places(who, step.of).take(self.held)
        if step.reduce:
            mine = into.take(self.held)
            theirs = self.combine(mine, theirs, out=mine)
        into.give(self.held, theirs)

    def _put(self, who: Integers, source: Integers, chunks: Chunks, theirs: Array, reduce: bool) -> None:
        places = self._places(who, chunks)
        if not reduce:
            places.give(self.held, theirs)
            return
        mine, first = places.take(self.held), source < who
        if first.all():  # the lower rank's value stands first
            mine = self.combine(theirs, mine, out=mine)
        elif not first.any():
            mine = self.combine(mine, theirs, out=mine)
        else:
            if places.same:  # whole rows at a time
                mine, theirs = mine.reshape(len(who), -1), theirs.reshape(len(who), -1)
            else:
                first = np.repeat(first, places.length)
            left, right = theirs.copy(), mine.copy()
            left[~first], right[~first] = mine[~first], theirs[~first]
            mine = self.combine(left, right, out=mine).reshape(-1)
        places.give(self.held, mine)

    def _places(self, who: Integers, chunks: Chunks) -> _ElementRanges:
        """Where the chunks of these ranks are, one rank after the other."""
        begins, lengths = [], []
        for begin, length in self._spans(chunks, who):
            begins.append(begin + who * self.width)
            lengths.append(length)
        if not begins:
            nothing = np.zeros(len(who), np.int64)
            return _ElementRanges(nothing, nothing)
        if len(begins) == 1:
            return _ElementRanges(begins[0], lengths[0])
        return _ElementRanges(np.stack(begins, 1).reshape(-1), np.stack(lengths, 1).reshape(-1), len(begins))

    def _spans(self, chunks: Chunks, who: Integers) -> list[tuple[Integers, Integers]]:
        """Begin and length, in elements of a row, of each part of a message."""
        if isinstance(chunks, Span):
            start, number = self._of(chunks.start, who) % self.total, self._of(chunks.count, who)
            before = np.minimum(number, self.total - start)
            spans = [self._span(start, before)]
            if (number > before).any():  # round the end
                spans.append(self._span(np.zeros_like(start), number - before))
            return spans
        if isinstance(chunks, tuple):
            return [span for part in chunks for span in self._spans(part, who)]
        return [self._span(self._of(chunks, who), np.ones(len(who), np.int64))]

    def _span(self, start: Integers, number: Integers) -> tuple[Integers, Integers]:
        begin = self.ends[start]
        return begin, self.ends[start + number] - begin


class _ElementRanges:
    """Parts of a row of elements: they begin at `begin` and have `count` elements. `parts` of them
    following each other belong to one message, which has `length` elements."""

    def __init__(self, begin: Integers, count: Integers, parts: int = 1) -> None:
        self.begin, self.count = begin, count
        self.length = count if parts == 1 else count.reshape(-1, parts).sum(axis=1)
        self.same = int(count[0]) if len(count) and (count == count[0]).all() else 0

    def take(self, of: Array) -> Array:
        """A copy of all these elements."""
        if self.same:
            return _windows(of, self.same)[self.begin].reshape(-1)
        taken: Array = of[_ranges(self.begin, self.count)]
        return taken

    def give(self, to: Array, values: Array) -> None:
        if self.same:
            _windows(to, self.same)[self.begin] = values.reshape(-1, self.same)
        else:
            to[_ranges(self.begin, self.count)] = values


def _windows(row: Array, length: int) -> Array:
    """Entry i is row[i : i + length]."""
    return np.lib.stride_tricks.as_strided(row, (len(row) - length + 1, length), (row.itemsize, row.itemsize))


def _ranges(start: Integers, count: Integers) -> Integers:
    """start[0] … start[0]+count[0]-1, start[1] …, one after the other."""
    ends = np.cumsum(count)
    total = int(ends[-1]) if len(ends) else 0
    return np.repeat(start - (ends - count), count) + np.arange(total)
