"""The contents of a picture: lanes, spans, arrows, moments.

    rank 0  ●━━━━━━━━━╲▒▒▒▒▒▒●━━━━       a lane: one rank         a span: it does something
                       ╲    ╱            an arrow: a message, from the instant at which it left
    rank 1  ●░░░░░░▒▒▒▒▒●━━╱━━━━━━       to that at which it was there

All pictures are drawn from a scene: the terminal's, the page, the SVG and the trace. A scene knows nothing
of journals; a journal makes one (`Journal.scene`). Instants are picoseconds.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, overload

OPERATION, COMPUTE = "operation", "compute"
WAIT = "wait"  # for somebody who has sent nothing yet,
TRANSFER = "transfer"  # or for a message that is on its way


class LaneSpan(NamedTuple):
    """A lane does one thing."""

    lane: int
    start: int
    end: int
    kind: str  # OPERATION, COMPUTE, WAIT or TRANSFER
    name: str  # all_reduce
    group: str
    text: str  # all of it, in words
    is_beside: bool = False  # by a worker, while the program went on
    failed: bool = False
    number: int = -1  # of the event that began it, in its journal


class Arrow(NamedTuple):
    """A message between two lanes."""

    source: int
    to: int
    departed: int
    arrived: int
    nbytes: int
    name: str
    group: str
    text: str
    is_received: bool = True
    number: int = -1


class Moment(NamedTuple):
    """Something that happened: a step of the player."""

    at: int
    lane: int
    text: str
    kind: str = ""
    number: int = -1


class RankLanes(Sequence[str]):
    """The names of so many ranks' lanes, made when they are asked for: a journal may speak of millions."""

    def __init__(self, count: int) -> None:
        self._ranks = range(count)

    def __len__(self) -> int:
        return len(self._ranks)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        if isinstance(at, slice):
            return [f"rank {rank}" for rank in self._ranks[at]]
        return f"rank {self._ranks[at]}"


@dataclass(frozen=True)
class Scene:
    title: str
    lanes: Sequence[str]
    spans: list[LaneSpan] = field(default_factory=list)
    arrows: list[Arrow] = field(default_factory=list)
    moments: list[Moment] = field(default_factory=list)  # causes before effects
    memory: dict[int, list[tuple[int, int]]] = field(default_factory=dict)  # lane: (instant, bytes)
    memory_is: str = ""  # what these bytes are
    is_virtual: bool = False
    note: str = ""  # what is not shown

    @property
    def start(self) -> int:
        return min(self._instants(), default=0)

    @property
    def end(self) -> int:
        return max(self._instants(), default=1)

    def _instants(self) -> Iterable[int]:
        for span in self.spans:
            yield span.start
            yield span.end
        for arrow in self.arrows:
            yield arrow.departed
            yield arrow.arrived
        for moment in self.moments:
            yield moment.at

    @property
    def names(self) -> list[str]:
        """The operations that colours tell apart, in order of appearance."""
        found = [*(span.name for span in self.spans if span.kind == OPERATION)]
        return list(dict.fromkeys([*found, *(arrow.name for arrow in self.arrows)]))

    @property
    def groups(self) -> list[str]:
        found = [*(span.group for span in self.spans), *(arrow.group for arrow in self.arrows)]
        return [group for group in dict.fromkeys(found) if group]

    def between(self, start: int, end: int) -> Scene:
        """Only what touches this span of time."""
        return replace(
            self,
            spans=[s for s in self.spans if s.start <= end and s.end >= start],
            arrows=[a for a in self.arrows if a.departed <= end and a.arrived >= start],
            moments=[m for m in self.moments if start <= m.at <= end],
        )

    def until(self, at: int) -> Scene:
        """The past at that instant. Spans that go on are cut off there."""
        return replace(
            self,
            spans=[s._replace(end=min(s.end, at)) for s in self.spans if s.start <= at],
            arrows=[a for a in self.arrows if a.departed <= at],
            moments=[m for m in self.moments if m.at <= at],
        )

    def only(self, lanes: Iterable[int] | None = None, groups: Iterable[str] | None = None) -> Scene:
        """Only these lanes, in this order, and what happened between them; only these groups."""
        kept: Sequence[int] = range(len(self.lanes)) if lanes is None else list(lanes)
        wrong = [lane for lane in kept if not 0 <= lane < len(self.lanes)] if lanes is not None else []
        if wrong:
            raise ValueError(f"there is no lane {wrong[0]}; there are 0 to {len(self.lanes) - 1}")
        named = set(self.groups if groups is None else groups)
        unknown = sorted(named - set(self.groups))
        if unknown:
            raise ValueError(f"no group {unknown[0]!r} did anything; there are {self.groups}")
        place: Mapping[int, int] | Sequence[int] = kept  # all lanes stay where they are
        if lanes is not None:
            place = {lane: number for number, lane in enumerate(kept)}
        return replace(
            self,
            lanes=self.lanes if lanes is None else [self.lanes[lane] for lane in kept],
            spans=[
                s._replace(lane=place[s.lane])
                for s in self.spans
                if s.lane in place and (s.group in named or not s.group)
            ],
            arrows=[
                a._replace(source=place[a.source], to=place[a.to])
                for a in self.arrows
                if a.source in place and a.to in place and a.group in named
            ],
            moments=[m._replace(lane=place[m.lane]) for m in self.moments if m.lane in place],
            memory={place[lane]: held for lane, held in self.memory.items() if lane in place},
        )

    def first_lanes(self, most: int) -> Scene:
        """Without the lanes after the first `most`, which a note then counts. For what writes all names."""
        hidden = len(self.lanes) - most
        if hidden <= 0:
            return self
        note = f"{hidden} more lanes are not in this file; choose with ranks. {self.note}".rstrip()
        return replace(self.only(range(most)), note=note)

    def to_json(self) -> dict[str, Any]:
        """All of it, as it can be written and sent."""
        return {
            **{name: getattr(self, name) for name in ("title", "is_virtual", "note")},
            "lanes": list(self.lanes),
            **{name: [list(one) for one in getattr(self, name)] for name in ("spans", "arrows", "moments")},
            "memory": [[lane, [list(one) for one in held]] for lane, held in self.memory.items()],
            "memory_is": self.memory_is,
        }

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Scene:
        return cls(
            **{
                **found,
                "spans": [LaneSpan(*one) for one in found["spans"]],
                "arrows": [Arrow(*one) for one in found["arrows"]],
                "moments": [Moment(*one) for one in found["moments"]],
                "memory": {lane: [(at, held) for at, held in samples] for lane, samples in found["memory"]},
            }
        )

    def held(self, lane: int, at: int) -> int:
        """The bytes that a lane held at an instant."""
        samples = self.memory.get(lane, [])
        place = bisect_right(samples, at, key=lambda sample: sample[0])
        return samples[place - 1][1] if place else 0
