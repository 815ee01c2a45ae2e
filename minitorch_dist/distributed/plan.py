"""What one rank has to do to carry out a schedule: which bytes go where, and what waits for what.

A schedule speaks of chunks; a plan of parts of arrays, in *segments* small enough that one can be
sent on while the next still arrives. It is made once for each schedule, rank and vector, from the
schedule's data alone:

    Post     a receive may be posted as soon as nothing that came before still needs the place it
             goes to; mostly that is long before its message, which then is never copied twice
    Send     needs the receives whose data it passes on, and no others

Nobody's message may fill the memory of a rank that is not ready for it. Where a large exchange sends
and receives the same chunks, both sides take turns by segments. Where many large messages are to be
added into the same chunk one after the other (a tree's root), each is sent when its receiver has
asked for it: a *gate*, an empty message back.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias

from minitorch_dist.distributed.schedules.schedule import Schedule
from minitorch_dist.distributed.schedules.steps import (
    Combine,
    Exchange,
    Receive,
    Send,
    Step,
    numbered,
)

SEGMENT: Final = 1 << 20  # bytes
EAGER: Final = 1 << 16  # bytes that may arrive unasked, whatever there is room for
SPARE: Final = 2  # scratch slots beyond which one that is free is used again at once

Name: TypeAlias = Any  # of an array: "work", ("source", 3), ("slot", 0) …


class Part(NamedTuple):
    """Elements start … stop of an array."""

    name: Name
    start: int
    stop: int


class Post(NamedTuple):
    """Post receive `number`: the next segment of message `step` from `source`."""

    number: int
    source: int
    step: int
    into: tuple[Part, ...]
    operand: tuple[Part, ...]  # what it is added to; () where it is copied
    needs: tuple[int, ...]  # receives that must have arrived before
    opens: bool  # tell the sender that it may send


class Sending(NamedTuple):
    """Send one segment of message `step`."""

    to: int
    step: int
    parts: tuple[Part, ...]
    needs: tuple[int, ...]
    waits: bool  # for the receiver to ask for it


class Local(NamedTuple):
    """Copy or add a chunk of one's own."""

    into: tuple[Part, ...]
    of: tuple[Part, ...]
    operand: tuple[Part, ...]
    needs: tuple[int, ...]


Action: TypeAlias = Post | Sending | Local


class Plan(NamedTuple):
    """The actions of one rank in order, how many receives there are, and the arrays it needs."""

    actions: tuple[Action, ...]
    receives: int
    slots: tuple[int, ...]  # elements of each scratch slot


class Vector(NamedTuple):
    """The chunks of one operation as this rank holds them. Hashable, so that plans can be kept.

    `sizes[c]` are the elements of chunk c. The caller's chunks are found in the array "source", or
    with `source_list` in one array ("source", c) each; results in "work" alike. Only chunks in
    `results` are results (None: all); others that arrive go to scratch slots. `in_place`: source
    and work are the same. In an all_to_all the arrays are numbered by peers: ("source", to) and
    ("work", from).
    """

    sizes: tuple[int, ...]
    itemsize: int
    in_place: bool = True
    source_list: bool = False
    work_list: bool = False
    results: tuple[int, ...] | None = None


class _Segment(NamedTuple):
    """Some whole chunks, or a part of one: (chunk, from, to) in elements of that chunk."""

    pieces: tuple[tuple[int, int, int], ...]


def segments(chunks: list[int], sizes: Any, itemsize: int) -> Iterator[_Segment]:
    """Cut a message. Sender and receiver do it alike: it depends on the chunks' sizes only."""
    limit = max(1, SEGMENT // itemsize)
    small = EAGER // itemsize
    together: list[tuple[int, int, int]] = []
    filled = 0
    whole = sum(sizes(chunk) for chunk in chunks) <= small
    for chunk in chunks:
        size = sizes(chunk)
        if together and not whole and filled + size > small:
            yield _Segment(tuple(together))
            together, filled = [], 0
        if size <= small:
            together.append((chunk, 0, size))
            filled += size
            continue
        for start in range(0, size, limit):
            yield _Segment(((chunk, start, min(start + limit, size)),))
    if together or not chunks:
        yield _Segment(tuple(together))


@lru_cache(maxsize=1024)
def plan(schedule: Schedule, rank: int, size: int, root: int | None, vector: Vector) -> Plan:
    """The plan of `rank` among `size`."""
    return _Planner(schedule, rank, size, root, vector).made()


@lru_cache(maxsize=4096)
def gated(
    schedule: Schedule,
    rank: int,
    size: int,
    root: int | None,
    sizes: tuple[int, ...],
    itemsize: int,
) -> frozenset[tuple[int, int]]:
    """The large messages, as (source, step), that `rank` has to ask for one by one.

    These are those that are added to what earlier messages from others are added to, if together
    they would take more room than a quarter of the vector (one and a quarter for an all_reduce,
    which needs no scratch).
    """
    if schedule.collective not in ("reduce", "all_reduce", "reduce_scatter"):
        return frozenset()
    total = schedule.total(size)
    last: dict[int, int] = {}
    counts: dict[int, int] = {}
    late: list[tuple[int, int]] = []
    waiting = 0
    for step in schedule.of(rank, size, root):
        if not isinstance(step, Receive | Exchange):
            continue
        source = int(step.source)
        number = counts[source] = counts.get(source, 0) + 1
        into = numbered(step.receive if isinstance(step, Exchange) else step.chunks, total)
        nbytes = sum(sizes[chunk % len(sizes)] for chunk in into) * itemsize
        out = numbered(step.send, total) if isinstance(step, Exchange) else []
        added_before = any(last.get(chunk, source) != source for chunk in into)
        if step.reduce and added_before and nbytes > EAGER and not set(into) & set(out):
            late.append((source, number))
            waiting += nbytes
        last.update(dict.fromkeys(into, source))
    quarters = 5 if schedule.collective == "all_reduce" else 1
    return frozenset(late) if 4 * waiting > quarters * sum(sizes) * itemsize else frozenset()


class _Planner:
    def __init__(
        self, schedule: Schedule, rank: int, size: int, root: int | None, vector: Vector
    ) -> None:
        self.schedule, self.rank, self.size, self.root = schedule, rank, size, root
        self.vector, self.total = vector, schedule.total(size)
        self.across = schedule.collective == "all_to_all"
        self.actions: list[Action] = []
        self.posts: list[tuple[int, Post]] = []  # and before which action
        self.filled: set[int] = set()  # chunks that have been received into
        self.touched: dict[Name, list[tuple[int, int, int, int]]] = {}
        self.slots: list[int] = []
        self.slot_of: dict[int, int] = {}
        self.sent: dict[int, int] = {}
        self.received: dict[int, int] = {}
        self.offsets = [0]
        for count in vector.sizes:
            self.offsets.append(self.offsets[-1] + count)
        self.begin = 0  # the first action of the present step
        self.steps = schedule.of(rank, size, root)
        self.last_use = self._last_uses()

    def made(self) -> Plan:
        for at, step in enumerate(self.steps):
            self.begin = len(self.actions)
            if isinstance(step, Combine):
                self._combine(step)
            else:
                self._transfer(step)
            self._free_slots(at)
        return Plan(tuple(self._merged()), len(self.posts), tuple(self.slots))

    # ------------------------------------------------------------------------------ step by step

    def _transfer(self, step: Send | Receive | Exchange) -> None:
        out: list[_Segment] = []
        into: list[_Segment] = []
        if isinstance(step, Send | Exchange):
            out = self._segments(step.send if isinstance(step, Exchange) else step.chunks)
        if isinstance(step, Receive | Exchange):
            into = self._segments(step.receive if isinstance(step, Exchange) else step.chunks)
        to = int(step.to) if isinstance(step, Send | Exchange) else -1
        source = int(step.source) if isinstance(step, Receive | Exchange) else -1
        if to >= 0:
            self.sent[to] = self.sent.get(to, 0) + 1
        if source >= 0:
            self.received[source] = self.received.get(source, 0) + 1
        reduce = isinstance(step, Receive | Exchange) and step.reduce
        if self._overlap(out, into) and len(into) == len(out) > 1:
            before: tuple[int, ...] = ()
            for given, taken in zip(out, into, strict=True):  # take turns
                self._send(to, given, before)
                before = (self._receive(source, taken, reduce, before),)
        else:
            for given in out:
                self._send(to, given)
            for taken in into:
                self._receive(source, taken, reduce)
        self.filled.update(chunk for segment in into for chunk, _, _ in segment.pieces)

    def _send(self, to: int, segment: _Segment, needs: tuple[int, ...] = ()) -> None:
        parts = tuple(self._held(piece) for piece in segment.pieces)
        needs = (*needs, *self._arrivals(parts))
        if self.schedule.collective == "barrier":
            needs = tuple(range(len(self.posts)))
        step = self.sent[to]
        waits = (self.rank, step) in self._gated(to)
        self._touch(parts, -1)
        self.actions.append(Sending(to, step, _joined(parts), _sorted(needs), waits))

    def _receive(
        self, source: int, segment: _Segment, reduce: bool, needs: tuple[int, ...] = ()
    ) -> int:
        operand = tuple(self._held(piece) for piece in segment.pieces) if reduce else ()
        into = tuple(self._place(piece) for piece in segment.pieces)
        number, step = len(self.posts), self.received[source]
        both = (*into, *operand)
        before = 1 + max((at for _, _, at, _ in self._touches(into)), default=-1)
        needs = _sorted((*needs, *self._arrivals(both)))
        opens = (source, step) in self._gated(self.rank)
        if opens:
            before = max(before, self.begin)
        post = Post(number, source, step, _joined(into), _joined(operand), needs, opens)
        self.posts.append((max(before, self._posted_before(source, step)), post))
        self._touch(into, number)
        return number

    def _posted_before(self, source: int, step: int) -> int:
        """Segments of one message are posted in order."""
        if self.posts:
            at, post = self.posts[-1]
            if (post.source, post.step) == (source, step):
                return at
        return 0

    def _combine(self, step: Combine) -> None:
        size = self._size(int(step.into))
        of = (self._held((int(step.of), 0, size)),)
        operand = (self._held((int(step.into), 0, size)),) if step.reduce else ()
        into = (self._place((int(step.into), 0, size)),)
        needs = _sorted(self._arrivals((*of, *operand, *into)))
        self.filled.add(int(step.into))
        self._touch((*of, *into), -1)
        self.actions.append(Local(into, of, operand, needs))

    def _merged(self) -> Iterator[Action]:
        """The posts in their places among the other actions."""
        waiting = sorted(self.posts, key=lambda item: (item[0], item[1].number))
        next_post = 0
        for at, action in enumerate(self.actions):
            while next_post < len(waiting) and waiting[next_post][0] <= at:
                yield waiting[next_post][1]
                next_post += 1
            yield action
        for _, post in waiting[next_post:]:
            yield post

    def _gated(self, rank: int) -> frozenset[tuple[int, int]]:
        vector = self.vector
        return gated(self.schedule, rank, self.size, self.root, vector.sizes, vector.itemsize)

    # ------------------------------------------------------------------------------- what is where

    def _segments(self, chunks: Any) -> list[_Segment]:
        return list(segments(numbered(chunks, self.total), self._size, self.vector.itemsize))

    def _size(self, chunk: int) -> int:
        sizes = self.vector.sizes
        if not self.across:
            return sizes[chunk % len(sizes)]
        source, to = divmod(chunk, self.size)
        return sizes[to] if source == self.rank else sizes[self.size + source]

    def _is_result(self, chunk: int) -> bool:
        if self.across:
            return chunk % self.size == self.rank
        results = self.vector.results
        return chunk < self.total and (results is None or chunk in results)

    def _held(self, piece: tuple[int, int, int]) -> Part:
        """Where the present values of (a part of) a chunk are."""
        chunk, start, stop = piece
        if chunk in self.filled or (self.vector.in_place and not self.across):
            return self._place(piece)
        number = chunk % self.size if self.across else chunk
        if self.vector.source_list or self.across:
            return Part(("source", number), start, stop)
        return Part("source", self.offsets[number] + start, self.offsets[number] + stop)

    def _place(self, piece: tuple[int, int, int]) -> Part:
        """Where (a part of) a chunk belongs when it arrives."""
        chunk, start, stop = piece
        if not self._is_result(chunk):
            return Part(("slot", self._slot(chunk)), start, stop)
        if self.across:
            return Part(("work", chunk // self.size), start, stop)
        if self.vector.work_list:
            return Part(("work", chunk), start, stop)
        offset = self.offsets[chunk]
        if self.vector.results is not None:
            offset -= self.offsets[self.vector.results[0]]
        return Part("work", offset + start, offset + stop)

    def _slot(self, chunk: int) -> int:
        """A scratch slot for this chunk. Of those that are free, the one that has been so longest:
        a receive into it can be posted earliest."""
        if chunk not in self.slot_of:
            taken = set(self.slot_of.values())
            free = [slot for slot in range(len(self.slots)) if slot not in taken]
            if len(free) > 1 or (free and len(self.slots) > SPARE):
                slot = min(free, key=self._last_touch)
            else:
                slot = len(self.slots)
                self.slots.append(0)
            self.slot_of[chunk] = slot
            self.slots[slot] = max(self.slots[slot], self._size(chunk))
        return self.slot_of[chunk]

    def _last_touch(self, slot: int) -> int:
        return max((at for _, _, at, _ in self.touched.get(("slot", slot), [])), default=-1)

    def _last_uses(self) -> dict[int, int]:
        """The last step that names a chunk."""
        found: dict[int, int] = {}
        for at, step in enumerate(self.steps):
            for chunk in _named(step, self.total):
                found[chunk] = at
        return found

    def _free_slots(self, at: int) -> None:
        for chunk in [chunk for chunk in self.slot_of if self.last_use.get(chunk) == at]:
            del self.slot_of[chunk]

    # --------------------------------------------------------------------------- what needs what

    def _touch(self, parts: tuple[Part, ...], number: int) -> None:
        """Note that the next action uses these parts; `number`: they are received into."""
        for name, start, stop in parts:
            if start < stop:
                known = self.touched.setdefault(name, [])
                known[:] = [t for t in known if not (start <= t[0] and t[1] <= stop)]
                known.append((start, stop, len(self.actions) - (number >= 0), number))

    def _touches(self, parts: tuple[Part, ...]) -> Iterator[tuple[int, int, int, int]]:
        for name, start, stop in parts:
            for touch in self.touched.get(name, ()):
                if touch[0] < stop and start < touch[1]:
                    yield touch

    def _arrivals(self, parts: tuple[Part, ...]) -> list[int]:
        """The receives that (last) went into these parts."""
        return [number for _, _, _, number in self._touches(parts) if number >= 0]

    def _overlap(self, out: list[_Segment], into: list[_Segment]) -> bool:
        ours = {chunk for segment in out for chunk, _, _ in segment.pieces}
        return any(chunk in ours for segment in into for chunk, _, _ in segment.pieces)


def _named(step: Step, total: int) -> list[int]:
    if isinstance(step, Combine):
        return [int(step.into), int(step.of)]
    if isinstance(step, Exchange):
        return numbered(step.send, total) + numbered(step.receive, total)
    return numbered(step.chunks, total)


def _joined(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """Neighbouring parts as one."""
    found: list[Part] = []
    for part in parts:
        if part.start == part.stop:
            continue
        if found and found[-1].name == part.name and found[-1].stop == part.start:
            found[-1] = Part(part.name, found[-1].start, part.stop)
        else:
            found.append(part)
    return tuple(found)


def _sorted(numbers: Any) -> tuple[int, ...]:
    return tuple(sorted(set(numbers)))
