"""Two journals: the same partial order, or where they first part.

Lane by lane the events must be equal in content (see `Event.content`: never times, nor call sites). The
first difference of a lane may only follow from one elsewhere; so of all lanes that differ, that one is
shown of which none of the others is a cause.
"""

from __future__ import annotations

from typing import NamedTuple

from minitorch_dist.distributed.journal.events import Event
from minitorch_dist.distributed.journal.order import Lane, PartialOrder

WITHIN = ("send", "receive")


class Divergence(NamedTuple):
    """The first place where two journals differ; None where one has nothing (more) to tell."""

    rank: int
    one: Event | None
    other: Event | None
    before: Event | None  # the last event that they have in common there
    numbers: tuple[int | None, int | None] = (None, None)  # of `one` and `other` in their journals

    def __str__(self) -> str:
        lines = [f"they part at rank {self.rank}, {self._place()}:"]
        lines += [f"  {name}  {_said(e)}" for name, e in (("a", self.one), ("b", self.other))]
        return "\n".join(lines)

    def _place(self) -> str:
        return "at its beginning" if self.before is None else f"after {_brief(self.before)}"


def _said(event: Event | None) -> str:
    return "nothing more of this rank" if event is None else str(event)


def _brief(event: Event) -> str:
    return str(event).removeprefix(f"rank {event.rank} ")


def diff(one: PartialOrder, other: PartialOrder, operations_only: bool = False) -> Divergence | None:
    """Where they first differ; None if they are equal as partial orders.

    With `operations_only` it does not matter by which messages a group's operations are carried out:
    so runs can be compared that chose different algorithms.
    """
    found: list[tuple[int, int, Divergence]] = []
    places = _EventPositions(one), _EventPositions(other)
    for lane in sorted(set(one.lanes) | set(other.lanes)):
        ours, theirs = (_inside(order, lane, operations_only) for order in (one, other))
        common = 0
        for a, b in zip(ours, theirs, strict=False):
            if _content(one.events[a], operations_only) != _content(other.events[b], operations_only):
                break
            common += 1
        if common == len(ours) == len(theirs):
            continue
        a_number = ours[common] if common < len(ours) else None
        b_number = theirs[common] if common < len(theirs) else None
        when = min(p.of(n) for p, n in zip(places, (a_number, b_number), strict=True))
        divergence = Divergence(
            lane[0],
            None if a_number is None else one.events[a_number],
            None if b_number is None else other.events[b_number],
            one.events[ours[common - 1]] if common else None,
            (a_number, b_number),
        )
        found.append((when, lane[0], divergence))
    return min(found, key=lambda entry: entry[:2])[2] if found else None


class _EventPositions:
    """Which event of the run an event is, in an order that respects causes."""

    def __init__(self, order: PartialOrder) -> None:
        self._order = order
        self._places: dict[int, int] | None = None

    def of(self, number: int | None) -> int:
        if number is None:
            return len(self._order.events)
        if self._places is None:
            self._places = {n: place for place, n in enumerate(self._order.line_up())}
        return self._places[number]


def _inside(order: PartialOrder, lane: Lane, operations_only: bool) -> list[int]:
    numbers = order.lanes.get(lane, [])
    if not operations_only:
        return numbers
    return [
        number for number in numbers if order.events[number].sequence < 0 or order.events[number].what not in WITHIN
    ]


def _content(event: Event, operations_only: bool) -> tuple[object, ...]:
    return (event._replace(algorithm="") if operations_only else event).content
