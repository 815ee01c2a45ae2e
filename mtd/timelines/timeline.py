"""The notes of one rank: what its program computed and waited for, its collectives and its messages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

Key: TypeAlias = tuple[Any, ...]
"""Of a collective: the number of its group, and its place among the group's calls. Of a message: sender, receiver,
group, tag, and its place among the messages that match alike."""


class ComputedSpan(NamedTuple):
    """The device was busy."""

    start: int
    end: int
    name: str
    module: str


class AwaitedSpan(NamedTuple):
    """The program stood still for a collective or a message (`key`; None: for anything else)."""

    start: int
    end: int
    key: Key | None
    is_message: bool


class CollectiveSpan(NamedTuple):
    """One rank's part of a collective."""

    key: Key
    name: str
    owner: str  # for whom, such as layers.17
    nbytes: int
    issued: int | None  # when the program asked for it, if it went on meanwhile
    began: int
    ended: int
    group: tuple[int, ...] = ()
    root: int = -1  # a rank of the world; -1: it has none


class SentMessage(NamedTuple):
    departed: int
    nbytes: int


class ReceivedMessage(NamedTuple):
    posted: int
    taken: int  # when the program had it
    nbytes: int


class Together(NamedTuple):
    """Operations that follow each other."""

    start: int
    end: int
    operations: Sequence[tuple[str, int, tuple[str, ...]]]


@dataclass
class RankTimeline:
    """All that one rank did. `program` is in the order of time."""

    rank: int
    program: list[ComputedSpan | AwaitedSpan | Together] = field(default_factory=list)
    collectives: dict[Key, CollectiveSpan] = field(default_factory=dict)
    sent: dict[Key, SentMessage] = field(default_factory=dict)
    received: dict[Key, ReceivedMessage] = field(default_factory=dict)
    memory: list[tuple[int, dict[str, int]]] = field(default_factory=list)  # by category
    end: int = 0

    def spans(self) -> list[ComputedSpan | AwaitedSpan]:
        """All that its program did, one thing after the other."""
        found: list[ComputedSpan | AwaitedSpan] = []
        for span in self.program:
            if isinstance(span, Together):
                found += _one_by_one(span)
            else:
                found.append(span)
        return sorted(found, key=lambda span: (span.start, span.end))

    def signature(self) -> tuple[Any, ...]:
        """Equal for ranks that did the same."""
        computed = tuple((s.name, s.module) for s in self.spans() if isinstance(s, ComputedSpan))
        called = tuple((c.name, c.owner, c.nbytes) for c in self.collectives.values())
        return computed, called, tuple(m.nbytes for m in self.sent.values())


def _one_by_one(span: Together) -> Iterator[ComputedSpan]:
    """Each operation takes its share of the span, which is longer on a slow rank."""
    whole = sum(picos for _, picos, _ in span.operations) or 1
    done, length = 0, span.end - span.start
    for name, picos, modules in span.operations:
        start = span.start + done * length // whole
        done += picos
        end = span.start + done * length // whole
        if end > start:
            yield ComputedSpan(start, end, name, modules[-1] if modules else "")
