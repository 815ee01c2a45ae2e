"""A journal as a scene (see `pictures.scene`): lanes are ranks, and arrows are messages."""

from __future__ import annotations

from itertools import accumulate
from pathlib import Path
from typing import Final

from minitorch_dist.distributed.journal import Event, Journal, Message
from minitorch_dist.pictures.scene import COMPUTE, OPERATION, TRANSFER, WAIT, Arrow, LaneSpan, Moment, RankLanes, Scene

MOST_MOMENTS: Final = 50_000


def scene_of(journal: Journal) -> Scene:
    """The scene of a `Journal`. Times count from its first event."""
    start, end = journal.start, journal.end
    numbers = {id(event): number for number, event in enumerate(journal.events)}
    spans = [*_operations(journal, start, end, numbers), *_others(journal, start)]
    arrows = [_arrow(message, start, end, numbers[id(message.send)]) for message in journal.messages]
    memory, what = _memory(journal, start)
    note = f"{journal.torn} lines were torn off" if journal.torn else ""
    if len(journal.events) > MOST_MOMENTS:
        note = f"steps: the first {MOST_MOMENTS} of {len(journal.events)} events. {note}".rstrip()
    name = Path(journal.name).name or f"{journal.world_size} ranks over {journal.transport}"
    lanes, moments = RankLanes(journal.world_size), _moments(journal, start)
    spans.sort(key=lambda span: (span.start, -span.end))
    return Scene(name, lanes, spans, arrows, moments, memory, what, journal.is_virtual, note)


def _arrow(message: Message, start: int, end: int, number: int) -> Arrow:
    send, is_received = message.send, message.receive is not None
    departed, arrived = message.departed - start, (message.arrived if is_received else end) - start
    said = send.nbytes, send.operation, send.group, str(send)
    return Arrow(send.rank, send.peer, departed, arrived, *said, is_received, number)


def _operations(journal: Journal, start: int, end: int, numbers: dict[int, int]) -> list[LaneSpan]:
    found = []
    for begin, over in journal.operations:
        until, error = (end, "it never ended") if over is None else (over.until, over.error)
        said = f"{begin.name} on rank {begin.rank}{begin.where}"
        said += f", by {begin.algorithm}" if begin.algorithm else ""
        what = OPERATION, begin.operation, begin.group, f"{said}: {error}" if error else said
        times = begin.at - start, until - start
        found.append(LaneSpan(begin.rank, *times, *what, begin.beside, bool(error), numbers[id(begin)]))
    return found


def _others(journal: Journal, start: int) -> list[LaneSpan]:
    """Computing and waiting. A wait for a message is cut where that message left."""
    departed = {m.receive.message: m.departed for m in journal.messages if m.receive is not None}
    found: list[LaneSpan] = []
    waits: dict[tuple[int, str, int], Event] = {}  # that are not over
    for event in journal.events:
        key = event.rank, event.group, event.sequence
        if event.what == "compute":
            found.append(_span(event, COMPUTE, event.at, event.until))
        elif event.what == "wait" and event.peer < 0 <= event.sequence:
            found.append(_span(event, WAIT, event.at, event.until))
        elif event.what == "wait":
            waits[key] = event
        elif key in waits:  # a wait was for the event that follows it
            wait = waits.pop(key)
            came = departed.get(event.message, wait.until) if event.what == "receive" else wait.until
            left = min(max(came, wait.at), wait.until)
            found.append(_span(wait, WAIT, wait.at, left))
            if event.what == "receive":
                arriving = _span(wait, TRANSFER, left, wait.until)
                found.append(arriving._replace(text=f"{wait}: it is on its way", failed=bool(event.error)))
    found += [_span(wait, WAIT, wait.at, wait.until) for wait in waits.values()]
    shifted = [span._replace(start=span.start - start, end=span.end - start) for span in found]
    return [span for span in shifted if span.end > span.start or span.failed]


def _span(event: Event, kind: str, start: int, end: int) -> LaneSpan:
    failed = bool(event.error)
    return LaneSpan(event.rank, start, end, kind, event.operation, event.group, str(event), event.beside, failed)


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
        nbytes = message.send.nbytes
        if receive is not None and nbytes and receive.until > message.arrived:
            come, taken = (message.arrived - start, nbytes), (receive.until - start, -nbytes)
            changes.setdefault(receive.rank, []).extend((come, taken))
    return {rank: _added_up(own) for rank, own in changes.items()}, "bytes that had come and nobody had taken"


def _added_up(changes: list[tuple[int, int]]) -> list[tuple[int, int]]:
    ordered = sorted(changes)
    return [*zip((at for at, _ in ordered), accumulate(change for _, change in ordered), strict=True)]
