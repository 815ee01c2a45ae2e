"""The order in which events had to happen: lanes and messages.

A rank's events stand in *lanes*. One lane is its program. The others are those of its workers: one for
each group's asynchronous operations, and one for its long sends. A lane is ordered; between lanes,

    send                  ─► its receive                    (the only arrows between ranks)
    issue                 ─► begin, or send, of what was asked for
    end of an operation   ─► begin of the group's next, and ─► the wait for it

Everything else is concurrent, in spite of any clock (Lamport 1978, doi:10.1145/359545.359563). Event a happened before b if a
path of arrows leads from a to b.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from heapq import heappop, heappush
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

from minitorch_dist.distributed.journal.events import Event, JournalError

Lane: TypeAlias = tuple[int, str]  # (rank, "": its program, or the worker's name)


def lane_of(event: Event) -> Lane:
    """Where an event stands."""
    if event.what in ("issue", "wait") or not event.beside:
        return event.rank, ""
    return event.rank, f"{'sends' if event.is_point_to_point else 'operations'} of {event.group}"


def lanes(events: Sequence[Event]) -> dict[Lane, list[int]]:
    """The numbers of the events of each lane, in order. A wait is one of them if the program joins what was issued;
    other waits depend on time alone."""
    issued = {(e.rank, e.group, e.sequence) for e in events if e.what == "issue" and e.sequence >= 0}
    found: dict[Lane, list[int]] = {}
    for number, event in enumerate(events):
        joins = event.peer < 0 and (event.rank, event.group, event.sequence) in issued
        if event.what != "wait" or joins:
            found.setdefault(lane_of(event), []).append(number)
    return found


def messages(events: Sequence[Event]) -> list[tuple[int, int | None]]:
    """Every send with its receive, which may never have been."""
    receives: dict[Any, int] = {}
    for number, event in enumerate(events):
        if event.what == "receive" and not event.error:
            receives.setdefault(event.message, number)  # of a message that came twice, the first
    return [
        (number, receives.get(event.message))
        for number, event in enumerate(events)
        if event.what == "send" and not event.error
    ]


class PartialOrder:
    """The partial order of some events, which are known by their numbers."""

    def __init__(self, events: Sequence[Event]) -> None:
        self.events = events
        self.lanes = lanes(events)
        self.lane_of = {number: lane for lane, inside in self.lanes.items() for number in inside}
        self.before: list[list[int]] = [[] for _ in events]  # direct predecessors
        for inside in self.lanes.values():
            for earlier, later in pairwise(inside):
                self.before[later].append(earlier)
        for send, receive in messages(events):
            if receive is not None:
                self.before[receive].append(send)
        self._connect_operations()

    def _connect_operations(self) -> None:
        named: dict[tuple[str, int, str, int], int] = {}
        issued: dict[tuple[int, str], list[int]] = {}  # isends that have not left
        for number, event in enumerate(self.events):
            what, rank, group = event.what, event.rank, event.group
            if not event.is_point_to_point:
                if number in self.lane_of and what in ("issue", "begin", "end", "wait"):
                    named[what, rank, group, event.sequence] = number
            elif what == "issue":
                issued.setdefault((rank, group), []).append(number)
            elif what == "send" and event.beside and issued.get((rank, group)):
                self.before[number].append(issued[rank, group].pop(0))
        for (what, rank, group, sequence), number in named.items():
            earlier = []
            if what == "begin":
                earlier = [("issue", rank, group, sequence), ("end", rank, group, sequence - 1)]
            elif what == "wait":
                earlier = [("end", rank, group, sequence)]
            self.before[number] += [named[key] for key in earlier if key in named]

    def line_up(self) -> list[int]:
        """The events of all lanes in one order that respects theirs; else by time, then rank."""
        sorter = TopologicalSorter({number: self.before[number] for number in self.lane_of})
        try:
            sorter.prepare()
        except CycleError as error:
            event = self.events[error.args[1][0]]
            raise JournalError(f"this journal contradicts itself: {event} would have to happen before itself") from None
        ready: list[tuple[int, int, int]] = []
        found: list[int] = []
        while sorter.is_active():
            for number in sorter.get_ready():
                heappush(ready, (self.events[number].until, self.events[number].rank, number))
            found.append(heappop(ready)[2])
            sorter.done(found[-1])
        return found

    @cached_property
    def _places(self) -> dict[int, int]:
        return {number: place for place, number in enumerate(self.line_up())}

    def place(self, number: int | None) -> int:
        """Which event of the run an event is, in that order; None comes after all."""
        return len(self.events) if number is None else self._places[number]

    def event(self, number: int | None) -> Event | None:
        return None if number is None else self.events[number]

    def happened_before(self, a: int, b: int) -> bool:
        """Whether event a is among the causes of event b: a path of arrows leads from a to b."""
        seen, left = {b}, [b]
        while left:
            earlier = [number for number in self.before[left.pop()] if number not in seen]
            seen.update(earlier)
            left += earlier
        return a != b and a in seen


# ---------------------------------------------------------------------------- what belongs together


class Message(NamedTuple):
    """A send and its receive; None if it was never received."""

    send: Event
    receive: Event | None

    @property
    def departed(self) -> int:
        return self.send.at

    @property
    def arrived(self) -> int:
        """When it was there; if nobody knows, when its send was over."""
        return self.send.until if self.receive is None else max(self.receive.arrived, self.send.at)


class Operation(NamedTuple):
    """One rank's part in an operation of a group; without `end` it never came to one."""

    begin: Event
    end: Event | None


def matched_messages(events: Sequence[Event]) -> list[Message]:
    """All messages, by the instant at which they left."""
    found = [Message(events[send], None if receive is None else events[receive]) for send, receive in messages(events)]
    return sorted(found, key=lambda message: (message.departed, message.send.rank))


def matched_operations(events: Sequence[Event]) -> list[Operation]:
    """All operations, rank by rank, in the order in which they began."""
    ends = {(e.rank, e.group, e.sequence): e for e in events if e.what == "end"}
    return [
        Operation(event, ends.get((event.rank, event.group, event.sequence)))
        for event in events
        if event.what == "begin"
    ]
