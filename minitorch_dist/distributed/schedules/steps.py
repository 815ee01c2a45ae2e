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


def numbered(chunks: Chunks, total: int) -> list[int]:
    """The chunks as a list of numbers, for one rank. `total` is where spans begin again."""
    if type(chunks) is int:
        return [chunks]
    if isinstance(chunks, Span):
        start = int(chunks.start)
        return [(start + i) % total for i in range(int(chunks.count))]
    if isinstance(chunks, tuple):
        return [number for part in chunks for number in numbered(part, total)]
    return [int(chunks)]


def in_words(step: Step) -> str:
    """`Exchange: chunk 0 to rank 1, chunk 3 from rank 3 (added)`, for one rank."""
    if isinstance(step, Send):
        return f"Send: {_named(step.chunks)} to rank {int(step.to)}"
    if isinstance(step, Receive):
        return f"Receive: {_named(step.chunks)} from rank {int(step.source)}{_added(step.reduce)}"
    if isinstance(step, Exchange):
        return (
            f"Exchange: {_named(step.send)} to rank {int(step.to)}, "
            f"{_named(step.receive)} from rank {int(step.source)}{_added(step.reduce)}"
        )
    return f"Combine: chunk {int(step.of)} into chunk {int(step.into)}{_added(step.reduce)}"


def _added(reduce: bool) -> str:
    return " (added)" if reduce else ""


def _named(chunks: Chunks) -> str:
    if isinstance(chunks, Span):
        start, count = int(chunks.start), int(chunks.count)
        return f"chunk {start}" if count == 1 else f"{count} chunks from {start} on"
    if isinstance(chunks, tuple):
        return "nothing" if not chunks else f"{len(chunks)} chunks"
    return f"chunk {int(chunks)}"
