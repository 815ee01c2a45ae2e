"""Where the chunks of one rank are, and how messages of them are cut.

Chunks are parts of the arrays that a caller gave, or scratch:

    a chunk that is a result       in "work", from the beginning
    the caller's own values        in "source", until something was received into the chunk
    what is only passed on         in scratch, ("slot", number)

With lists of tensors each chunk is an array of its own, ("work", chunk) or ("source", chunk). In an all_to_all
chunk s·P + t is what rank s has for rank t. So rank t finds it in ("work", s), and rank s in ("source", t).
The planner, the board and the simulator all ask here, so they agree on what is where.

A long message is cut into segments (`segments`), and some messages wait until they are asked for (`gated`).
Sender and receiver find both out alike, from the sizes of the chunks.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate
from typing import Any, Final, NamedTuple, TypeAlias

from minitorch_dist.distributed.schedules.schedule import Schedule

SEGMENT: Final = 1 << 20  # bytes
EAGER: Final = 1 << 16  # bytes that may arrive unasked, whatever there is room for

Name: TypeAlias = Any  # of an array: "work", ("source", 3), ("slot", 0) …


class Part(NamedTuple):
    """Elements start … stop of an array."""

    name: Name
    start: int
    stop: int


class Vector(NamedTuple):
    """The chunks of one operation as this rank holds them. Hashable, so that plans can be kept.

    `sizes[c]` are the elements of chunk c. The caller's chunks are found in the array "source", or
    with `source_list` in one array ("source", c) each; results in "work" alike. Only chunks in
    `results` are results (None: all); others that arrive go to scratch slots. `in_place`: source
    and work are the same. In an all_to_all the arrays are numbered by peers: ("source", to) and
    ("work", from). `borrowed`: large parts are not sent, and need no segments (see `borrowing`).
    """

    sizes: tuple[int, ...]
    itemsize: int
    in_place: bool = True
    source_list: bool = False
    work_list: bool = False
    results: tuple[int, ...] | None = None
    borrowed: bool = False


class ChunkLayout:
    """The chunks of one rank in one operation. `filled` are those that something was received into."""

    def __init__(self, schedule: Schedule, rank: int, size: int, vector: Vector) -> None:
        self.rank, self.size, self.vector = rank, size, vector
        self.total = schedule.total(size)
        self.across = schedule.collective == "all_to_all"
        self.is_in_place = vector.in_place and not self.across
        self.filled: set[int] = set()
        self.offsets = [0, *accumulate(vector.sizes)]
        self.is_whole = vector.results is None and not (vector.work_list or self.across)
        self.shift = self.offsets[vector.results[0]] if vector.results else 0

    def size_of(self, chunk: int) -> int:
        """Its elements."""
        sizes = self.vector.sizes
        if not self.across:
            return sizes[chunk % len(sizes)] if sizes else 0
        source, to = divmod(chunk, self.size)
        return sizes[to] if source == self.rank else sizes[self.size + source]

    def is_result(self, chunk: int) -> bool:
        """Whether the caller wants it."""
        if self.across:
            return chunk % self.size == self.rank
        results = self.vector.results
        return chunk < self.total and (results is None or chunk in results)

    def held(self, chunk: int) -> Part:
        """Where its present values are."""
        if self.is_in_place or chunk in self.filled:
            return self.place(chunk)
        if self.across or self.vector.source_list:
            return Part(("source", chunk % self.size if self.across else chunk), 0, self.size_of(chunk))
        return Part("source", self.offsets[chunk], self.offsets[chunk + 1])

    def place(self, chunk: int) -> Part:
        """Where it belongs when it arrives."""
        if not self.is_result(chunk):
            return Part(self.scratch(chunk), 0, self.size_of(chunk))
        if self.across or self.vector.work_list:
            return Part(("work", chunk // self.size if self.across else chunk), 0, self.size_of(chunk))
        return Part("work", self.offsets[chunk] - self.shift, self.offsets[chunk + 1] - self.shift)

    def scratch(self, chunk: int) -> Name:
        """The array for a chunk that is no result. Here each has one of its own."""
        return "slot", chunk


Segment: TypeAlias = tuple[tuple[int, int, int], ...]
"""Some whole chunks, or a part of one: (chunk, from, to) in elements of that chunk."""


def segments(chunks: list[int], sizes: Any, itemsize: int, longest: int = SEGMENT) -> Iterator[Segment]:
    """Cut a message. Sender and receiver do it alike: it depends on the chunks' sizes only."""
    limit = max(1, longest // itemsize)
    small = EAGER // itemsize
    together: list[tuple[int, int, int]] = []
    filled = 0
    whole = sum(sizes(chunk) for chunk in chunks) <= small
    for chunk in chunks:
        size = sizes(chunk)
        if together and not whole and filled + size > small:
            yield tuple(together)
            together, filled = [], 0
        if size <= small:
            together.append((chunk, 0, size))
            filled += size
            continue
        for start in range(0, size, limit):
            yield ((chunk, start, min(start + limit, size)),)
    if together or not chunks:
        yield tuple(together)


def gated(
    schedule: Schedule, rank: int, size: int, root: int | None, sizes: tuple[int, ...], itemsize: int
) -> frozenset[tuple[int, int]]:
    """The large messages, as (source, step), that `rank` has to ask for one by one. A short vector has none."""
    if sum(sizes) * itemsize <= EAGER:
        return frozenset()
    return _piling_up(schedule, rank, size, root, sizes, itemsize)


@lru_cache(maxsize=4096)
def _piling_up(
    schedule: Schedule, rank: int, size: int, root: int | None, sizes: tuple[int, ...], itemsize: int
) -> frozenset[tuple[int, int]]:
    """The messages whose values are added to the same place as those of earlier messages from other ranks. They
    count if together they would take more room than a quarter of the vector (one and a quarter for an
    all_reduce, which needs no scratch).
    """
    if schedule.collective not in ("reduce", "all_reduce", "reduce_scatter"):
        return frozenset()
    last: dict[int, int] = {}
    counts: dict[int, int] = {}
    late: list[tuple[int, int]] = []
    waiting = 0
    for step in schedule.plain(rank, size, root):
        source, into = step.source, step.taken
        if source is None:
            continue
        number = counts[source] = counts.get(source, 0) + 1
        nbytes = sum(sizes[chunk % len(sizes)] for chunk in into) * itemsize
        added_before = any(last.get(chunk, source) != source for chunk in into)
        if step.reduce and added_before and nbytes > EAGER and not set(into) & set(step.sent):
            late.append((source, number))
            waiting += nbytes
        last.update(dict.fromkeys(into, source))
    quarters = 5 if schedule.collective == "all_reduce" else 1
    return frozenset(late) if 4 * waiting > quarters * sum(sizes) * itemsize else frozenset()
