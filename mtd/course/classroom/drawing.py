"""The live picture: one step, put together from the journals of all laptops, whose clocks know nothing of each other.

Ada   ●━━━━━━╲                     each laptop sends the lines of its own journal; what it says about others is
Bob           ╲━━━━●               not believed. Clocks are compared by the messages themselves: if a word took
Kim    ●━━━━━━━━╱                  d₁ one way and d₂ the other, the clocks differ by (d₁ - d₂) / 2 (Cristian 1989,
                                   doi:10.1007/BF01784024), and none may arrive before it was sent.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Final

from minitorch_dist.distributed.journal import reading
from minitorch_dist.distributed.journal.events import Event, JournalError
from minitorch_dist.distributed.journal.order import matched_messages
from minitorch_dist.distributed.journal.run import Journal
from minitorch_dist.pictures.scene import Scene
from mtd.course.classroom import names

HEAD: Final = '{"journal":1,"of":"minitorch_dist"}'
MAX_EVENTS: Final = 400  # of one laptop
LONGEST: Final = 1 << 62  # picoseconds, bytes, whatever is counted
MAX_DIMS: Final = 8
WIDEST: Final = 40  # columns of a word
WORDS: Final = ("group", "operation", "dtype", "reduce", "algorithm", "site", "error")


class StepDrawing:
    """The events of all laptops in one step."""

    def __init__(self, generation: int, step: int, laptops: Sequence[str]) -> None:
        self.generation, self.step, self.names = generation, step, list(laptops)
        self.lines: dict[int, str] = {}  # by rank

    def add(self, rank: int, lines: str) -> None:
        self.lines[rank] = lines

    @cached_property
    def scene(self) -> Scene:
        """The picture; empty if nobody said anything that makes sense."""
        events: list[Event] = []
        for rank, lines in self.lines.items():
            events += _of(rank, lines, len(self.names))
        offsets = compare(events)
        events = [_shifted(event, offsets[event.rank]) for event in events if event.rank in offsets]
        title = f"step {self.step}, generation {self.generation}"
        try:
            scene = Journal([], events).scene()
        except JournalError:  # each was read; together they cannot be true
            return Scene(title, self.names, note="these journals contradict each other")
        lanes = [*self.names, *(f"rank {n}" for n in range(len(self.names), len(scene.lanes)))]
        return replace(scene, title=title, lanes=lanes)


def _of(rank: int, lines: str, size: int) -> list[Event]:
    """The events that a laptop says it took part in."""
    try:
        found = reading.parse_lines([HEAD, *lines.splitlines()[:MAX_EVENTS]], "a laptop's journal")
    except JournalError:
        return []
    own = (event for event in found.events if event.rank == rank and -1 <= event.peer < size)
    return [_plain(event) for event in own if _is_sane(event)]


def _is_sane(event: Event) -> bool:
    """Whether its numbers are some that a step of a class can have."""
    numbers = (event.sequence, event.step, event.nth, event.nbytes, event.root, event.memory)
    return (
        0 <= event.at <= event.until < LONGEST
        and -1 <= event.arrived < LONGEST
        and all(-1 <= number < LONGEST for number in numbers)
        and len(event.shape or ()) <= MAX_DIMS
        and all(0 <= extent < LONGEST for extent in event.shape or ())
    )


def _plain(event: Event) -> Event:
    """Its words cut short, and of letters that can be seen: each stands in the picture several times."""
    words: dict[str, Any] = {name: names.clean(getattr(event, name), WIDEST) for name in WORDS}
    return event._replace(**words)


def _shifted(event: Event, by: int) -> Event:
    arrived = event.arrived + by if event.arrived >= 0 else event.arrived
    return event._replace(at=event.at + by, until=event.until + by, arrived=arrived)


def compare(events: Sequence[Event]) -> Mapping[int, int]:
    """The time to add to the instants of each rank that exchanged messages with another, or is alone."""
    fastest: dict[tuple[int, int], int] = {}
    for message in matched_messages(events):
        if message.receive is not None:
            pair = message.send.rank, message.receive.rank
            took = message.receive.arrived - message.send.at
            fastest[pair] = min(took, fastest.get(pair, took))
    offsets: dict[int, int] = {}
    ranks = sorted({rank for pair in fastest for rank in pair})
    for first in ranks:
        if first not in offsets:
            offsets[first] = 0
            _spread(first, fastest, offsets)
    if not offsets and len({event.rank for event in events}) == 1:
        offsets = {events[0].rank: 0}
    earliest = min((e.at + offsets[e.rank] for e in events if e.rank in offsets), default=0)
    return {rank: offset - earliest for rank, offset in offsets.items()}


def _spread(first: int, fastest: Mapping[tuple[int, int], int], offsets: dict[int, int]) -> None:
    """From one clock to those it has spoken with, and on."""
    waiting = deque([first])
    while waiting:
        here = waiting.popleft()
        for src, dst in fastest:
            there = dst if src == here else src if dst == here else None
            if there is None or there in offsets:
                continue
            there_to_here, here_to_there = (there, here), (here, there)
            out = fastest[here_to_there] if here_to_there in fastest else -fastest[there_to_here]
            back = fastest.get(there_to_here, -out)  # of words one way only nothing more is known
            offsets[there] = offsets[here] + (back - out) // 2
            waiting.append(there)
