"""The critical path of a run: the chain of work that its time is, found backwards from the end of the last rank.

    the program computed until now             ──► that operation, and what came before it
    it stood still for a collective until now  ──► the collective since its last rank came; then that rank, at that instant
    it stood still for a message until now     ──► the message since it left; then its sender, at that instant

The parts of the chain follow each other without a gap, so their lengths add up to the run's time. Nothing hides what
stands in it: a collective that others compute beside is in it only where somebody waits for it. Between two parts that
end at one instant any may be chosen. We take the last rank by number.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from minitorch_dist.sim.timelines.timeline import (
    AwaitedSpan,
    CollectiveSpan,
    ComputedSpan,
    Key,
    RankTimeline,
)

COMPUTING: Final = "computing"
COLLECTIVE: Final = "collective"
MESSAGE: Final = "message"
OTHER: Final = "other"  # nobody noted what the rank did


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
        found: dict[str, int] = {}
        for part in self.parts:
            name = part.name if part.kind == COLLECTIVE else part.kind
            found[name] = found.get(name, 0) + part.picos
        return dict(sorted(found.items(), key=lambda item: -item[1]))


class _Walk:
    def __init__(self, lines: Sequence[RankTimeline]) -> None:
        self.lines = {line.rank: line for line in lines}
        self._spans: dict[int, tuple[list[ComputedSpan | AwaitedSpan], list[int]]] = {}
        self._members: dict[Key, list[tuple[int, CollectiveSpan]]] = {}  # by rank
        self._before: dict[int, dict[Key, Key]] = {}  # what was issued before, on one group
        for line in lines:
            latest: dict[object, Key] = {}
            before = self._before[line.rank] = {}
            for key, span in line.collectives.items():
                self._members.setdefault(key, []).append((line.rank, span))
                if key[0] in latest:
                    before[key] = latest[key[0]]
                latest[key[0]] = key

    def back_from(self, rank: int, at: int) -> Iterator[PathPart]:
        wanted: Key | None = None  # a collective whose end is `at`
        while at > 0:
            if wanted is not None:
                part, rank, wanted = self._through(wanted, rank, at)
            else:
                span = self._span_before(rank, at)
                if span is None:
                    part = PathPart(rank, 0, at, OTHER, "", "")
                elif span.end < at:
                    part = PathPart(rank, span.end, at, OTHER, "", "")
                elif isinstance(span, ComputedSpan):
                    part = PathPart(rank, span.start, at, COMPUTING, span.name, span.module)
                elif span.is_message and span.key is not None:
                    part, rank = self._message(span, span.key, rank, at)
                elif span.key in self._members:
                    wanted = span.key
                    continue
                else:
                    part = PathPart(rank, span.start, at, OTHER, "", "")
            yield part
            at = part.start

    def _span_before(self, rank: int, at: int) -> ComputedSpan | AwaitedSpan | None:
        """The last thing that the program began before this instant."""
        if rank not in self._spans:
            spans = self.lines[rank].spans()
            self._spans[rank] = spans, [span.start for span in spans]
        spans, starts = self._spans[rank]
        place = bisect_left(starts, at)
        return spans[place - 1] if place else None

    def _through(self, key: Key, rank: int, at: int) -> tuple[PathPart, int, Key | None]:
        """A collective, which lasted since the last of its ranks came; that rank; and the collective of
        the same group for which that rank's call waited, if there was one."""
        came = [(span.began, who, span) for who, span in self._members[key] if span.began < at]
        own = self.lines[rank].collectives.get(key)
        if not came:  # everybody came at this very instant: nothing was moved
            began = at if own is None else min(own.began, at)
            return PathPart(rank, began, at, OTHER, "", ""), rank, None
        began, who, span = max(came, key=lambda each: each[:2])
        part = PathPart(who, began, at, COLLECTIVE, span.name, span.owner)
        if span.issued is not None and span.issued < began:
            before = self._before[who].get(key)
            if before is not None and self.lines[who].collectives[before].ended == began:
                return part, who, before
        return part, who, None

    def _message(self, span: AwaitedSpan, key: Key, rank: int, at: int) -> tuple[PathPart, int]:
        source = self.lines.get(key[0])
        sent = None if source is None else source.sent.get(key)
        if sent is None or not sent.departed < at:
            return PathPart(rank, span.start, at, OTHER, "", ""), rank
        words = f"rank {key[0]} to rank {key[1]}"
        return PathPart(key[0], sent.departed, at, MESSAGE, "message", words), key[0]


def by_owner(parts: Iterable[PathPart]) -> dict[tuple[str, str], int]:
    """Picoseconds by name and owner, the longest first."""
    found: dict[tuple[str, str], int] = {}
    for part in parts:
        key = part.name, part.owner
        found[key] = found.get(key, 0) + part.picos
    return dict(sorted(found.items(), key=lambda item: -item[1]))
