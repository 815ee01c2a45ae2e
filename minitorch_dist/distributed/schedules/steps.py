"""The steps of a schedule: Send, Receive, Exchange and Combine, as small immutable data.

A collective cuts its vector into numbered *chunks*. A step says which chunks go to whom, and where
those that come in are put (or added). It says nothing about bytes, dtypes or transports:

    Exchange(to=1, send=0, source=3, receive=3, reduce=True)

        rank 0 ── chunk 0 ──► rank 1
        rank 3 ── chunk 3 ──► rank 0, which adds it to its own chunk 3

Every number in a step may also be an array with one entry per rank: then the step stands for all
ranks at once. `only` says which ranks take it: True (all), a bool, or an array of them. A schedule
yields its steps in such an order that, taken for all ranks at once, each receive comes with or
after the send it belongs to; within one step all sends happen first.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

Rank: TypeAlias = Any  # an int, or an array with one entry per rank (see `everyone`)
Mask: TypeAlias = Any  # a bool, or an array of them
Chunks: TypeAlias = Any  # a chunk, a Span, or a tuple of these; () is a message without content


class Span(NamedTuple):
    """`count` chunks from `start` on; after the last chunk comes the first again."""

    start: Rank
    count: Rank


class Send(NamedTuple):
    """Send these chunks; they may be overwritten afterwards."""

    to: Rank
    chunks: Chunks
    only: Mask = True


class Receive(NamedTuple):
    """Wait for the next message from `source` and put it (`reduce`: add it) into these chunks."""

    source: Rank
    chunks: Chunks
    reduce: bool = False
    only: Mask = True


class Exchange(NamedTuple):
    """Send and receive at the same time. Both may concern the same chunks."""

    to: Rank
    send: Chunks
    source: Rank
    receive: Chunks
    reduce: bool = False
    only: Mask = True


class Combine(NamedTuple):
    """Copy (`reduce`: add) a chunk of one's own into another one, without a message."""

    into: Rank
    of: Rank
    reduce: bool = True
    only: Mask = True


Step: TypeAlias = Send | Receive | Exchange | Combine
Steps: TypeAlias = Iterator[Step]


def sides(step: Step) -> tuple[Rank, Chunks, Rank, Chunks]:
    """To whom which chunks go, and from whom which come; None is nobody. A Combine moves its chunk without a rank."""
    if isinstance(step, Exchange):
        return step.to, step.send, step.source, step.receive
    if isinstance(step, Send):
        return step.to, step.chunks, None, ()
    if isinstance(step, Receive):
        return None, (), step.source, step.chunks
    return None, step.of, None, step.into


class PlainStep(NamedTuple):
    """One rank's step in plain numbers, of all kinds alike: two sides, each with its chunks."""

    kind: str
    to: int | None
    sent: list[int]
    source: int | None
    taken: list[int]
    reduce: bool

    @property
    def is_own(self) -> bool:
        """Whether it is a Combine: what is sent goes into what is taken, on the same rank."""
        return self.to is None and self.source is None

    def __str__(self) -> str:
        """`Exchange: chunk 0 to rank 1, chunk 3 from rank 3 (added)`."""
        to = "" if self.to is None else f" {_named(self.sent)} to rank {self.to}"
        source = "" if self.source is None else f" {_named(self.taken)} from rank {self.source}"
        own = f" {_named(self.sent)} into {_named(self.taken)}" if self.is_own else ""
        return f"{self.kind}:{own}{to}{',' * bool(to and source)}{source}{' (added)' * self.reduce}"


def plain(step: Step, total: int) -> PlainStep:
    """The step of one rank. `total` is where spans begin again."""
    to, sent, source, taken = sides(step)
    return PlainStep(
        type(step).__name__,
        None if to is None else int(to),
        numbered(sent, total),
        None if source is None else int(source),
        numbered(taken, total),
        not isinstance(step, Send) and step.reduce,
    )


def numbered(chunks: Chunks, total: int) -> list[int]:
    """The chunks as a list of numbers, for one rank."""
    if type(chunks) is int:
        return [chunks]
    if isinstance(chunks, Span):
        start = int(chunks.start)
        return [(start + i) % total for i in range(int(chunks.count))]
    if isinstance(chunks, tuple):
        return [number for part in chunks for number in numbered(part, total)]
    return [int(chunks)]


def _named(chunks: list[int]) -> str:
    if len(chunks) == 1:
        return f"chunk {chunks[0]}"
    return f"{len(chunks)} chunks" if chunks else "nothing"
