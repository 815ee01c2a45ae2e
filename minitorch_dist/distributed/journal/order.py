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
from heapq import heappop, heappush
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

from minitorch_dist.distributed.journal.events import Event, JournalError

Lane: TypeAlias = tuple[int, str]  # (rank, "": its program, or the worker's name)


def lane_of(event: Event) -> Lane | None:
    """Where an event stands; None for those that depend on time alone (most waits)."""
    rank, what = event.rank, event.what
    if what == "wait":  # for an operation that was begun beside: the program joins it
        return (rank, "") if event.peer < 0 <= event.sequence else None
    if what == "issue" or not event.beside:
        return rank, ""
    return rank, f"{'sends' if event.is_point_to_point else 'operations'} of {event.group}"


def lanes(events: Sequence[Event]) -> dict[Lane, list[int]]:
    """The numbers of the events of each lane, in order."""
    found: dict[Lane, list[int]] = {}
    waits = _joins(events)
    for number, event in enumerate(events):
        lane = lane_of(event)
        if lane is not None and (event.what != "wait" or number in waits):
            found.setdefault(lane, []).append(number)
    return found


def _joins(events: Sequence[Event]) -> set[int]:
    """The waits of programs for what runs beside them."""
    issued = {(e.rank, e.group, e.sequence) for e in events if e.what == "issue" and e.sequence >= 0}
    return {
        number
        for number, event in enumerate(events)
        if event.what == "wait" and event.peer < 0 and (event.rank, event.group, event.sequence) in issued
    }


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
        after: dict[int, list[int]] = {}
        missing: dict[int, int] = {}
        ready: list[tuple[int, int, int]] = []
        for number in self.lane_of:
            missing[number] = len(self.before[number])
            for earlier in self.before[number]:
                after.setdefault(earlier, []).append(number)
            if not self.before[number]:
                heappush(ready, self._when(number))
        found: list[int] = []
        while ready:
            number = heappop(ready)[2]
            found.append(number)
            for later in after.get(number, ()):
                missing[later] -= 1
                if not missing[later]:
                    heappush(ready, self._when(later))
        if len(found) < len(self.lane_of):
            stuck = next(n for n, count in missing.items() if count)
            raise JournalError(
                f"this journal contradicts itself: {self.events[stuck]} would have to happen before itself"
            )
        return found

    def _when(self, number: int) -> tuple[int, int, int]:
        event = self.events[number]
        return event.until, event.rank, number

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
