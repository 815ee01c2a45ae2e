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
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from minitorch_dist.distributed.reductions import CombineFunction
from minitorch_dist.distributed.schedules import steps as steps_of
from minitorch_dist.distributed.schedules.everyone import Everyone
from minitorch_dist.distributed.schedules.schedule import BUILT_IN, Schedule
from minitorch_dist.distributed.schedules.steps import Chunks, Exchange, Receive, Send, Span
from minitorch_dist.sim.fast.addition_order import PIECE, AdditionOrder

Array = NDArray[Any]
Integers = NDArray[np.int64]
LONG = 256  # elements of a chunk, from which on it is worth to add chunk by chunk
ROOM = 1 << 23  # bytes of all ranks that are worked on at once; beside them stand some copies


class _FoldedMessages(NamedTuple):
    """Messages under way, at most one per sender."""

    source: Integers
    to: Integers
    start: Integers  # of each message in `values`
    length: Integers
    values: Array


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
        if is_ours and whole:  # all ranks get the same bits: one rank's will do
            return step_by_step(schedule, held, sizes, combine, 0)[:1]
        return step_by_step(schedule, held, sizes, combine)


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


def step_by_step(
    schedule: Schedule, held: Array, sizes: Integers, combine: CombineFunction, only: int | None = None
) -> Array:
    """Any schedule. One row for each rank, scratch cut off; with `only`, that rank's row is right, and
    nothing is computed that it does not depend on."""
    size = len(held)
    fold = _Fold(schedule, held, sizes, combine)
    steps = list(schedule(Everyone(size), size))
    for step, needed in zip(steps, _needed(steps, size, only), strict=True):
        fold.take(step, needed)
    return fold.held.reshape(size, -1)[:, : held.shape[1]]


def _needed(steps: Sequence[Any], size: int, only: int | None) -> list[NDArray[np.bool_]]:
    """For each step, whose values matter after it."""
    needed = np.full(size, only is None)
    found = []
    if only is not None:
        needed[only] = True
    for step in reversed(steps):
        found.append(needed)
        if isinstance(step, Exchange | Receive) and step.only is not False and not needed.all():
            who = np.flatnonzero(needed & _mask(step.only, size))
            needed = needed.copy()
            needed[_of(step.source, who)] = True
    return found[::-1]


def _mask(only: Any, size: int) -> NDArray[np.bool_]:
    return np.full(size, True) if only is True else np.asarray(only, bool)


class _Fold:
    def __init__(self, schedule: Schedule, held: Array, sizes: Integers, combine: CombineFunction) -> None:
        self.size, self.combine = len(held), combine
        self.total = schedule.total(self.size)
        self.sizes = np.concatenate([sizes, sizes])  # scratch after the chunks
        self.offsets = np.concatenate([[0], np.cumsum(self.sizes)])
        self.width = int(self.offsets[-1])
        rows = np.zeros((self.size, self.width), held.dtype)
        rows[:, : held.shape[1]] = held
        self.held = rows.reshape(-1)
        self.under_way: list[_FoldedMessages] = []

    def take(self, step: Any, needed: NDArray[np.bool_]) -> None:
        if step.only is False:
            return
        every = np.flatnonzero(_mask(step.only, self.size))
        who = every[needed[every]]  # who receives
        if isinstance(step, Exchange | Send):
            senders = every[needed[_of(step.to, every)]]
            if len(senders):
                self._send(senders, step.to, step.send if isinstance(step, Exchange) else step.chunks)
        if not len(who):
            return
        if isinstance(step, Exchange):
            self._receive(who, step.source, step.receive, step.reduce)
        elif isinstance(step, Receive):
            self._receive(who, step.source, step.chunks, step.reduce)
        elif isinstance(step, steps_of.Combine):
            into = self._places(who, step.into)
            theirs = self._places(who, step.of).take(self.held)
            if step.reduce:
                mine = into.take(self.held)
                theirs = self.combine(mine, theirs, out=mine)
            into.give(self.held, theirs)

    def _send(self, who: Integers, to: Any, chunks: Chunks) -> None:
        places = self._places(who, chunks)
        length = places.length
        start = np.cumsum(length) - length
        values = places.take(self.held)
        self.under_way.append(_FoldedMessages(who, _of(to, who), start, length, values))

    def _receive(self, who: Integers, source: Any, chunks: Chunks, reduce: bool) -> None:
        source = _of(source, who)
        left = []
        for batch in self.under_way:
            at = np.full(self.size, -1, np.int64)
            at[batch.source] = np.arange(len(batch.source))
            index = at[source]
            found = (index >= 0) & (batch.to[index] == who)
            if not found.any():
                left.append(batch)
                continue
            taken = index[found]
            values = batch.values
            if not np.array_equal(taken, np.arange(len(batch.source))):
                values = _ElementRanges(batch.start[taken], batch.length[taken]).take(values)
            self._put(who[found], source[found], chunks, values, reduce)
            who, source = who[~found], source[~found]
            stays = np.ones(len(batch.source), bool)
            stays[taken] = False
            if stays.any():
                rest = batch.length[stays]
                values = _ElementRanges(batch.start[stays], rest).take(batch.values)
                start = np.cumsum(rest) - rest
                left.append(_FoldedMessages(batch.source[stays], batch.to[stays], start, rest, values))
        self.under_way = left

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
