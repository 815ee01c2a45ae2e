"""Two journals: the same partial order, or where they first part.

Lane by lane the events must be equal in content (see `Event.content`: never times, nor call sites). The
first difference of a lane may only follow from one elsewhere; so of all lanes that differ, that one is
shown of which none of the others is a cause.
"""

from __future__ import annotations

from itertools import zip_longest
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
    for lane in sorted(one.lanes.keys() | other.lanes.keys()):
        ours, theirs = (_inside(order, lane, operations_only) for order in (one, other))
        for place, (a, b) in enumerate(zip_longest(ours, theirs)):
            first, second = one.event(a), other.event(b)
            if _content(first, operations_only) != _content(second, operations_only):
                before = one.event(ours[place - 1]) if place else None
                when = min(one.place(a), other.place(b))
                found.append((when, lane[0], Divergence(lane[0], first, second, before, (a, b))))
                break
    return min(found, key=lambda entry: entry[:2])[2] if found else None


def _inside(order: PartialOrder, lane: Lane, operations_only: bool) -> list[int]:
    numbers = order.lanes.get(lane, [])
    if not operations_only:
        return numbers
    return [
        number for number in numbers if order.events[number].sequence < 0 or order.events[number].what not in WITHIN
    ]


def _content(event: Event | None, operations_only: bool) -> tuple[object, ...] | None:
    if event is None:
        return None
    return (event._replace(algorithm="") if operations_only else event).content
