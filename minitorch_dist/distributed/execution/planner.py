"""Make the plan of one rank: follow its steps, and note what touches what.

The planner remembers, for each part of an array, which action used it last. This says how early a
receive into it may be posted, and which arrivals a send has to wait for. Data that arrives only to be
passed on goes to scratch slots, which are used again as soon as their contents have left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cached_property, lru_cache
from operator import itemgetter
from typing import Any, Final

from minitorch_dist.distributed.execution.chunks import (
    SEGMENT,
    ChunkLayout,
    Name,
    Part,
    Segment,
    Vector,
    gated,
    segments,
)
from minitorch_dist.distributed.execution.plan import Action, ExecutionPlan, LocalCopy, PostReceive, SendSegment
from minitorch_dist.distributed.schedules.schedule import Schedule
from minitorch_dist.distributed.schedules.steps import PlainStep

WHOLE: Final = 1 << 62  # bytes
SPARE: Final = 2  # scratch slots beyond which one that is free is used again at once


@lru_cache(maxsize=1024)
def plan(schedule: Schedule, rank: int, size: int, root: int | None, vector: Vector) -> ExecutionPlan:
    """The plan of `rank` among `size`."""
    return Planner(schedule, rank, size, root, vector).made()


class Planner(ChunkLayout):
    """Follows the steps of one rank."""

    def __init__(self, schedule: Schedule, rank: int, size: int, root: int | None, vector: Vector) -> None:
        super().__init__(schedule, rank, size, vector)
        self.schedule, self.root = schedule, root
        self.actions: list[Action] = []
        self.posts: list[tuple[int, PostReceive]] = []  # and before which action
        self.touched: dict[Name, list[tuple[int, int, int, int]]] = {}
        self.slots: list[int] = []
        self.slot_of: dict[int, int] = {}
        self.sent, self.received = Counter[int](), Counter[int]()  # messages, by peer
        self.begin = 0  # the first action of the present step
        self.steps = [*schedule.plain(rank, size, root)]

    def made(self) -> ExecutionPlan:
        for at, step in enumerate(self.steps):
            self.begin = len(self.actions)
            if step.is_own:
                self._combine(step)
            else:
                self._transfer(step)
            if self.slot_of:
                self._free_slots(at)
        slots = tuple(self.slots)
        return ExecutionPlan(tuple(self._merged()), len(self.posts), slots, self.vector.borrowed)

    # ------------------------------------------------------------------------------ step by step

    def _transfer(self, step: PlainStep) -> None:
        to: Any = step.to
        source: Any = step.source
        out = self._segments(step.sent, to, self.sent)
        into = self._segments(step.taken, source, self.received)
        if self._overlap(out, into) and len(into) == len(out) > 1:
            before: tuple[int, ...] = ()
            for given, taken in zip(out, into, strict=True):  # take turns
                self._send(to, given, before)
                before = (self._receive(source, taken, step.reduce, before),)
        else:
            for given in out:
                self._send(to, given)
            for taken in into:
                self._receive(source, taken, step.reduce)
        self.filled.update(chunk for segment in into for chunk, _, _ in segment)

    def _send(self, to: int, segment: Segment, needs: tuple[int, ...] = ()) -> None:
        parts = _parts(self.held, segment)
        needs = (*needs, *self._arrivals(parts))
        if self.schedule.collective == "barrier":
            needs = tuple(range(len(self.posts)))
        step = self.sent[to]
        waits = (self.rank, step) in self._gated(to)
        self._touch(parts, -1)
        self.actions.append(SendSegment(to, step, _joined(parts), _sorted(needs), waits))

    def _receive(self, source: int, segment: Segment, reduce: bool, needs: tuple[int, ...] = ()) -> int:
        operand = _parts(self.held, segment) if reduce else ()
        into = _parts(self.place, segment)
        number, step = len(self.posts), self.received[source]
        both = (*into, *operand)
        before = 1 + max((at for _, _, at, _ in self._touches(into)), default=-1)
        needs = _sorted((*needs, *self._arrivals(both)))
        opens = (source, step) in self._gated(self.rank)
        if opens:
            before = max(before, self.begin)
        post = PostReceive(number, source, step, _joined(into), _joined(operand), needs, opens)
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

    def _combine(self, step: PlainStep) -> None:
        (source,), (chunk,) = step.sent, step.taken
        of = (self.held(source),)
        operand = (self.held(chunk),) if step.reduce else ()
        into = (self.place(chunk),)
        needs = _sorted(self._arrivals((*of, *operand, *into)))
        self.filled.add(chunk)
        self._touch((*of, *into), -1)
        self.actions.append(LocalCopy(into, of, operand, needs))

    def _merged(self) -> list[Action]:
        """The posts in their places among the other actions."""
        posts = [(before, 0, post.number, post) for before, post in self.posts]
        others = [(at, 1, 0, action) for at, action in enumerate(self.actions)]
        return [action for *_, action in sorted([*posts, *others], key=itemgetter(0, 1, 2))]

    def _gated(self, rank: int) -> frozenset[tuple[int, int]]:
        vector = self.vector
        if vector.borrowed:
            return frozenset()
        return gated(self.schedule, rank, self.size, self.root, vector.sizes, vector.itemsize)

    # ---------------------------------------------------------------------- segments and scratch

    def _segments(self, chunks: list[int], peer: int | None, messages: Counter[int]) -> list[Segment]:
        """The segments of the next message to or from a peer; none without a peer."""
        if peer is None:
            return []
        messages[peer] += 1
        return list(segments(chunks, self.size_of, self.vector.itemsize, WHOLE if self.vector.borrowed else SEGMENT))

    def scratch(self, chunk: int) -> Name:
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
            self.slots[slot] = max(self.slots[slot], self.size_of(chunk))
        return "slot", self.slot_of[chunk]

    def _last_touch(self, slot: int) -> int:
        return max((at for _, _, at, _ in self.touched.get(("slot", slot), [])), default=-1)

    @cached_property
    def last_use(self) -> dict[int, int]:
        """The last step that names a chunk."""
        found: dict[int, int] = {}
        for at, step in enumerate(self.steps):
            found.update(dict.fromkeys([*step.sent, *step.taken], at))
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

    def _overlap(self, out: list[Segment], into: list[Segment]) -> bool:
        ours = {chunk for segment in out for chunk, _, _ in segment}
        return any(chunk in ours for segment in into for chunk, _, _ in segment)


def _parts(where: Callable[[int], Part], segment: Segment) -> tuple[Part, ...]:
    """Where the pieces of a segment are, or belong."""
    found = []
    for chunk, start, stop in segment:
        name, at, _ = where(chunk)
        found.append(Part(name, at + start, at + stop))
    return tuple(found)


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
