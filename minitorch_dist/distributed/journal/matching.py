"""Events that belong together: a send and its receive, the beginning of an operation and its end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from minitorch_dist.distributed.journal.events import Event
from minitorch_dist.distributed.journal.order import messages


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
    found = [
        Message(events[send], None if receive is None else events[receive])
        for send, receive in messages(events)
    ]
    return sorted(found, key=lambda message: (message.departed, message.send.rank))


def matched_operations(events: Sequence[Event]) -> list[Operation]:
    """All operations, rank by rank, in the order in which they began."""
    ends = {(e.rank, e.group, e.sequence): e for e in events if e.what == "end"}
    return [
        Operation(event, ends.get((event.rank, event.group, event.sequence)))
        for event in events
        if event.what == "begin"
    ]
