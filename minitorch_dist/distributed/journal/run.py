"""A journal that was read: the ranks, their events, and the order in which they had to happen; and its picture.

In the picture's scene (see `pictures.scene`) lanes are ranks, and arrows are messages.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Final

from minitorch_dist.distributed.journal import comparing, reading
from minitorch_dist.distributed.journal.comparing import Divergence
from minitorch_dist.distributed.journal.events import Event
from minitorch_dist.distributed.journal.order import (
    Message,
    Operation,
    PartialOrder,
    matched_messages,
    matched_operations,
)
from minitorch_dist.distributed.journal.reading import JournalRank
from minitorch_dist.pictures import svg
from minitorch_dist.pictures.scene import (
    COMPUTE,
    OPERATION,
    TRANSFER,
    WAIT,
    Arrow,
    LaneSpan,
    Moment,
    RankLanes,
    Scene,
)
from transports.quantities import in_words

MOST_MOMENTS: Final = 50_000


class Journal:
    """The record of a run. `events` has each rank's in its own order."""

    def __init__(
        self, ranks: Sequence[JournalRank], events: Sequence[Event], torn: int = 0, name: str = ""
    ) -> None:
        self.ranks, self.events, self.torn, self.name = list(ranks), list(events), torn, name

    @property
    def world_size(self) -> int:
        said = max((rank.world_size for rank in self.ranks), default=0)
        return max(said, 1 + max((event.rank for event in self.events), default=-1))

    @property
    def transport(self) -> str:
        return self.ranks[0].transport if self.ranks else ""

    @property
    def is_virtual(self) -> bool:
        """Whether its times are those of a simulation."""
        return any(rank.is_virtual for rank in self.ranks)

    @cached_property
    def start(self) -> int:
        """The first instant, in picoseconds."""
        return min((event.at for event in self.events), default=0)

    @cached_property
    def end(self) -> int:
        return max((event.until for event in self.events), default=0)

    @cached_property
    def groups(self) -> list[str]:
        """The names of the groups that did something, in order of appearance."""
        return list(dict.fromkeys(event.group for event in self.events if event.group))

    def of(self, rank: int) -> list[Event]:
        """The events of this rank."""
        return [event for event in self.events if event.rank == rank]

    @cached_property
    def messages(self) -> list[Message]:
        """All messages, by the instant at which they left."""
        return matched_messages(self.events)

    @cached_property
    def operations(self) -> list[Operation]:
        """All operations of groups, rank by rank, in the order in which they began."""
        return matched_operations(self.events)

    # -------------------------------------------------------------------------------------- order

    @cached_property
    def order(self) -> PartialOrder:
        """Its partial order. Events are known by their numbers in `events`."""
        return PartialOrder(self.events)

    def happened_before(self, a: int, b: int) -> bool:
        """Whether event number a is among the causes of number b."""
        return self.order.happened_before(a, b)

    def diff(self, other: Journal, operations_only: bool = False) -> Divergence | None:
        """Where two runs first differ; None if they are equal as partial orders."""
        return comparing.diff(self.order, other.order, operations_only)

    def is_same_order(self, other: Journal) -> bool:
        """Whether the same things happened in the same partial order, at whatever times."""
        return self.diff(other) is None

    # ----------------------------------------------------------------------------------- pictures

    def scene(self) -> Scene:
        """The scene from which pictures are drawn."""
        return self._scene

    @cached_property
    def _scene(self) -> Scene:
        return scene_of(self)

    def svg(self, width: int = 900, by: str = "operation", ranks: int = 64) -> str:
        """The space-time diagram for a paper or a notebook; `by` "operation" or "group"."""
        return svg.draw(self.scene(), width, by, ranks)

    def _repr_html_(self) -> str:
        return self.svg()

    def __len__(self) -> int:
        return len(self.events)

    def __repr__(self) -> str:
        torn = f", {self.torn} torn lines" if self.torn else ""
        return (
            f"<Journal of {self.world_size} ranks over {self.transport}: {len(self.events)} events, "
            f"{len(self.messages)} messages, {in_words(self.end - self.start)}{torn}>"
        )


def read(path: str | os.PathLike[str]) -> Journal:
    """The journal in this file (or in its pieces, `run.mtd.0` and so on, or in this folder)."""
    return Journal(*reading.read(path), name=os.fspath(path))


def from_lines(lines: Iterable[str | bytes]) -> Journal:
    """A journal whose lines are at hand."""
    return Journal(*reading.parse_lines(lines))


def diff(a: Journal, b: Journal, operations_only: bool = False) -> Divergence | None:
    """Where two runs first differ; None if they are equal as partial orders."""
    return a.diff(b, operations_only)


# ----------------------------------------------------------------------------------------- as a scene


def scene_of(journal: Journal) -> Scene:
    """The scene of a `Journal`. Times count from its first event."""
    start, end = journal.start, journal.end
    numbers = {id(event): number for number, event in enumerate(journal.events)}
    spans = [*_operations(journal, start, end, numbers), *_others(journal, start)]
    arrows = [
        Arrow(
            message.send.rank, message.send.peer, message.departed - start,
            (message.arrived if message.receive is not None else end) - start,
            message.send.nbytes, message.send.operation, message.send.group, str(message.send),
            message.receive is not None, numbers[id(message.send)],
        )
        for message in journal.messages
    ]  # fmt: skip
    memory, what = _memory(journal, start)
    note = f"{journal.torn} lines were torn off" if journal.torn else ""
    if len(journal.events) > MOST_MOMENTS:
        note = f"steps: the first {MOST_MOMENTS} of {len(journal.events)} events. {note}".rstrip()
    return Scene(
        Path(journal.name).name or f"{journal.world_size} ranks over {journal.transport}",
        RankLanes(journal.world_size),
        sorted(spans, key=lambda span: (span.start, -span.end)), arrows, _moments(journal, start),
        memory, what, journal.is_virtual, note,
    )  # fmt: skip


def _operations(journal: Journal, start: int, end: int, numbers: dict[int, int]) -> list[LaneSpan]:
    found = []
    for begin, over in journal.operations:
        until = end if over is None else over.until
        error = "" if over is None else over.error
        said = f"{begin.name} on rank {begin.rank}{begin.where}"
        if begin.algorithm:
            said += f", by {begin.algorithm}"
        if over is None:
            said += ": it never ended"
        found.append(
            LaneSpan(
                begin.rank, begin.at - start, until - start, OPERATION, begin.operation,
                begin.group, said + (f": {error}" if error else ""), begin.beside,
                bool(error) or over is None, numbers[id(begin)],
            )
        )  # fmt: skip
    return found


def _others(journal: Journal, start: int) -> list[LaneSpan]:
    """Computing and waiting. A wait for a message is cut where that message left."""
    departed = {m.receive.message: m.departed for m in journal.messages if m.receive is not None}
    found: list[LaneSpan] = []
    waits: dict[tuple[int, str, int], Event] = {}  # that are not over
    for event in journal.events:
        key = event.rank, event.group, event.sequence
        if event.what == "compute":
            found.append(_span(event, COMPUTE, event.at - start, event.until - start))
        elif event.what == "wait":
            if event.peer < 0 <= event.sequence:
                found.append(_span(event, WAIT, event.at - start, event.until - start))
            else:
                waits[key] = event
        elif key in waits:  # a wait was for the event that follows it
            wait = waits.pop(key)
            if event.what != "receive":
                found.append(_span(wait, WAIT, wait.at - start, wait.until - start))
                continue
            left = min(max(departed.get(event.message, wait.until), wait.at), wait.until)
            found.append(_span(wait, WAIT, wait.at - start, left - start))
            arriving = _span(wait, TRANSFER, left - start, wait.until - start)
            found.append(arriving._replace(failed=bool(event.error)))
    found += [_span(wait, WAIT, wait.at - start, wait.until - start) for wait in waits.values()]
    return [span for span in found if span.end > span.start or span.failed]


def _span(event: Event, kind: str, start: int, end: int) -> LaneSpan:
    text = str(event)
    if kind == TRANSFER:
        text += ": it is on its way"
    return LaneSpan(
        event.rank,
        start,
        end,
        kind,
        event.operation,
        event.group,
        text,
        event.beside,
        bool(event.error),
    )


def _moments(journal: Journal, start: int) -> list[Moment]:
    """The events, causes before effects. Waits are left out: nothing happened in them."""
    order = journal.order.line_up()
    events = journal.events
    return [
        Moment(events[n].until - start, events[n].rank, str(events[n]), events[n].what, n)
        for n in order[:MOST_MOMENTS]
        if events[n].what != "wait"
    ]


def _memory(journal: Journal, start: int) -> tuple[dict[int, list[tuple[int, int]]], str]:
    """The bytes that each rank's device held; without devices, those of messages that nobody had taken yet."""
    changes: dict[int, list[tuple[int, int]]] = {}
    for event in journal.events:
        if event.memory >= 0:
            changes.setdefault(event.rank, []).append((event.until - start, event.memory))
    if changes:
        return changes, "bytes on the rank's device"
    for message in journal.messages:
        receive = message.receive
        if receive is not None and message.send.nbytes and receive.until > message.arrived:
            own = changes.setdefault(receive.rank, [])
            own += [
                (message.arrived - start, message.send.nbytes),
                (receive.until - start, -message.send.nbytes),
            ]
    return {rank: _added_up(own) for rank, own in changes.items()}, "bytes that had come and nobody had taken"  # fmt: skip


def _added_up(changes: list[tuple[int, int]]) -> list[tuple[int, int]]:
    total, found = 0, []
    for at, change in sorted(changes):
        total += change
        found.append((at, total))
    return found
