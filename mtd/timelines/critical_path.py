"""The critical path of a run: the chain of work that its time is, found backwards from the end of the last rank.

    the program computed until now             ──► that operation, and what came before it
    it stood still for a collective until now  ──► the collective since its last rank came; then that rank, at that instant
    it stood still for a message until now     ──► the message since it left; then its sender, at that instant

Each part begins earlier than it ends, and the next one ends where it begins. So the walk falls in time, without a gap,
and the lengths add up to the run's time. Of a collective with a root only that root counts, or only the rank itself. For
others nobody may have to wait. Nothing hides what stands in the chain: a collective that others compute beside is in it
only where somebody waits for it. Between two parts that end at one instant any may be chosen. We take the last rank by
number.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import Final, NamedTuple

from mtd.timelines.timeline import CollectiveSpan, ComputedSpan, Key, RankTimeline

COMPUTING: Final = "computing"
COLLECTIVE: Final = "collective"
MESSAGE: Final = "message"
OTHER: Final = "other"  # nobody noted what the rank did
# Collectives that take something to their root; others come from there.
TO_ROOT: Final = ("gather", "reduce")


class PathPart(NamedTuple):
    """From `start` to `end` the run depended on this."""

    rank: int
    start: int
    end: int
    kind: str
    name: str  # all_gather, or the operation
    owner: str  # layers.17

    @property
    def picos(self) -> int:
        return self.end - self.start


@dataclass(frozen=True)
class CriticalPath:
    """`parts` in the order of time."""

    parts: tuple[PathPart, ...]

    @staticmethod
    def of(lines: Sequence[RankTimeline]) -> CriticalPath:
        last = max(lines, key=lambda line: line.end)
        found = _Walk(lines).back_from(last.rank, last.end)
        return CriticalPath(tuple(reversed([part for part in found if part.picos > 0])))

    @property
    def time(self) -> int:
        return sum(part.picos for part in self.parts)

    def shares(self) -> dict[str, int]:
        """Picoseconds by kind, and for collectives by name."""
        found = Counter[str]()
        for part in self.parts:
            found[part.name if part.kind == COLLECTIVE else part.kind] += part.picos
        return dict(found.most_common())


class _Walk:
    """Backwards through the notes of all ranks. A walker stands at an instant on a rank, or at the end of a collective."""

    def __init__(self, lines: Sequence[RankTimeline]) -> None:
        self.lines = {line.rank: line for line in lines}
        self._notes_of = cache(lambda rank: _Notes(self.lines[rank]))
        self._members: dict[Key, list[_Member]] = {}
        self._before: dict[int, dict[Key, Key]] = {}  # what was issued before, on one group
        for line in lines:
            latest: dict[object, Key] = {}
            before = self._before[line.rank] = {}
            for key, span in line.collectives.items():
                self._members.setdefault(key, []).append(_Member(span.began, line.rank, span))
                if key[0] in latest:
                    before[key] = latest[key[0]]
                latest[key[0]] = key

    def back_from(self, rank: int, at: int) -> Iterator[PathPart]:
        key: Key | None = None  # of a collective that ended at `at`
        while at > 0:
            part, rank, key = self._part_until(rank, at, key)
            assert 0 <= part.start < part.end == at, f"a path has to fall in time: {part} ends at {at}"
            yield part
            at = part.start

    def _part_until(self, rank: int, at: int, key: Key | None) -> tuple[PathPart, int, Key | None]:
        """The part that ends at this instant, and where the path goes on at its start.

        Some things take no time: a message without latency, a barrier on a network that costs nothing. They lead to
        another place at the same instant. No place is seen twice, so this ends.
        """
        seen: set[object] = set()
        while True:
            if key is not None and key not in seen:
                seen.add(key)
                last = self._last_to_come(key, rank, at)
                queued = self._queued_behind(key, last)
                if last.began < at:
                    name, owner = last.span.name, last.span.owner
                    part = PathPart(last.rank, last.began, at, COLLECTIVE, name, owner)
                    return part, last.rank, queued
                rank, key = last.rank, queued
                continue
            key = None
            notes = self._notes_of(rank)
            place = notes.place_until(at, seen)
            span = None if place is None else notes.spans[place]
            if isinstance(span, ComputedSpan):
                return PathPart(rank, span.start, at, COMPUTING, span.name, span.module), rank, None
            if span is None or span.key is None:
                return PathPart(rank, notes.before(at), at, OTHER, "", ""), rank, None
            seen.add((rank, place))
            if not span.is_message:
                key = span.key if span.key in self.lines[rank].collectives else None
                continue
            departed = self._departed(span.key)
            if departed is not None and departed <= at:
                sender, receiver = span.key[:2]
                if departed < at:
                    words = f"rank {sender} to rank {receiver}"
                    part = PathPart(sender, departed, at, MESSAGE, "message", words)
                    return part, sender, None
                rank = sender

    def _last_to_come(self, key: Key, rank: int, at: int) -> _Member:
        """Of the ranks without which this rank's part of a collective could not be over, the one that came last."""
        own = self.lines[rank].collectives[key]
        members = self._members[key]
        if own.root >= 0:
            takes_all = own.name.startswith(TO_ROOT)
            if rank != own.root or not takes_all:  # it need not wait for ranks beside it
                needed = {rank} if takes_all else {rank, own.root}
                members = [member for member in members if member.rank in needed]
        return max(member for member in members if member.began <= at)

    def _queued_behind(self, key: Key, last: _Member) -> Key | None:
        """The collective of the same group for which that rank's call had to wait, if there was one."""
        issued = last.span.issued
        before = self._before[last.rank].get(key)
        if before is None or (issued is not None and issued >= last.began):
            return None
        is_tight = self.lines[last.rank].collectives[before].ended == last.began
        return before if is_tight else None

    def _departed(self, key: Key) -> int | None:
        """When the sender handed a message over; None where nobody noted it."""
        sent = self.lines[key[0]].sent.get(key) if key[0] in self.lines else None
        return None if sent is None else sent.departed


class _Member(NamedTuple):
    """A rank's part of a collective. They are compared by when they came, and then by rank."""

    began: int
    rank: int
    span: CollectiveSpan


class _Notes:
    """The spans of one rank's program. Those of its helper threads may lie beside them."""

    def __init__(self, line: RankTimeline) -> None:
        self.rank, self.spans = line.rank, line.spans()
        self._starts = [span.start for span in self.spans]
        self._ending: dict[int, list[int]] = {}  # places, by the instant of the end
        for place, span in enumerate(self.spans):
            self._ending.setdefault(span.end, []).append(place)
        self._latest = list(accumulate((span.end for span in self.spans), max))
        self._instants = sorted({*self._starts, *self._ending})

    def place_until(self, at: int, seen: set[object]) -> int | None:
        """The place of what ended at this instant, of several the one that began last. If there is none: of a computation that
        goes on through it, while another thread of the rank did something."""
        for place in reversed(self._ending.get(at, ())):
            if (self.rank, place) not in seen:
                return place
        place = bisect_left(self._starts, at)
        while place and self._latest[place - 1] > at:
            place -= 1
            if isinstance(self.spans[place], ComputedSpan) and self.spans[place].end > at:
                return place
        return None

    def before(self, at: int) -> int:
        """The latest instant before this one at which something began or ended; 0 if there is none."""
        place = bisect_left(self._instants, at)
        return self._instants[place - 1] if place else 0


def by_owner(parts: Iterable[PathPart]) -> Counter[tuple[str, str]]:
    """Picoseconds by name and owner."""
    found = Counter[tuple[str, str]]()
    for part in parts:
        found[part.name, part.owner] += part.picos
    return found
