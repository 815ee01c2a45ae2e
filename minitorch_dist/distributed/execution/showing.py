"""What one rank does on a board with the arrays of one operation.

`postings` says which chunks are put up and looked at; here chunks become parts of arrays, and long
ones are cut: a *round* is a slice of so many elements of each chunk that all places fit into one slot.
Whatever arrives only to be passed on goes to scratch as long as a slice, so an operation of any size
needs no memory but the board's.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

from minitorch_dist.distributed.execution.plan import Name, Part, Vector
from minitorch_dist.distributed.execution.planner import Planner
from minitorch_dist.distributed.schedules import postings
from minitorch_dist.distributed.schedules.postings import NOTHING
from minitorch_dist.distributed.schedules.schedule import Schedule

ALIGNED: Final = 64  # bytes


class Put(NamedTuple):
    """Copy these parts to their places, then announce the event."""

    event: int
    parts: tuple[tuple[int, Part], ...]


class Take(NamedTuple):
    """When `source` has announced the event: copy what is at its place, or add it to `operand`."""

    source: int
    event: int
    place: int
    into: Part
    operand: Part | None


class Own(NamedTuple):
    """Copy or add a part of one's own."""

    into: Part
    of: Part
    operand: Part | None


Act: TypeAlias = Put | Take | Own


class Showing(NamedTuple):
    """`before`: up to the last thing that this rank puts up; `after`: what it does then. While it
    waits for others in one round, they can already have the next one of it."""

    before: tuple[Act, ...]
    after: tuple[Act, ...]
    length: int  # elements of a slice
    rounds: int  # that this rank puts up, or takes part in
    shown: int  # rounds that it puts up; others are told
    scratch: tuple[Name, ...]
    is_agreed: bool  # whether all ranks have equally many rounds
    leads: bool  # whether all others need what this rank puts up: the root of broadcast or scatter


@lru_cache(maxsize=1024)
def showing(
    schedule: Schedule, rank: int, size: int, root: int | None, vector: Vector, room: int
) -> Showing | None:
    """What `rank` does, with slots of `room` bytes; None where they are too small."""
    program = postings.program(schedule, rank, size, root)
    parts = Planner(schedule, rank, size, root, vector)
    length = room // max(1, program.places) // ALIGNED * ALIGNED // vector.itemsize
    if not length:
        return None
    acts: list[Act] = []
    scratch: list[Name] = []

    def part_of(chunk: int, is_held: bool) -> Part:
        if chunk == NOTHING:
            return Part("nothing", 0, 0)
        count = parts.size_of(chunk)
        if not parts.is_result(chunk) and (not is_held or chunk in parts.filled):
            name = "slot", chunk
            if name not in scratch:
                scratch.append(name)
            return Part(name, 0, count)
        return parts.held((chunk, 0, count)) if is_held else parts.place((chunk, 0, count))

    for act in program.acts:
        if isinstance(act, postings.Post):
            acts.append(Put(act.event, tuple((p, part_of(c, True)) for p, c in act.chunks)))
        elif isinstance(act, postings.Look):
            operand = part_of(act.chunk, True) if act.reduce else None
            into = part_of(act.chunk, False)
            acts.append(Take(act.source, act.event, act.place, into, operand))
            parts.filled.add(act.chunk)
        else:
            of = part_of(act.of, True)
            operand = part_of(act.into, True) if act.reduce else None
            acts.append(Own(part_of(act.into, False), of, operand))
            parts.filled.add(act.into)
    last = max((at + 1 for at, act in enumerate(acts) if isinstance(act, Put)), default=0)
    put = [part for act in acts if isinstance(act, Put) for _, part in act.parts]
    taken = [act.into for act in acts if isinstance(act, Take)]
    is_agreed = schedule.collective != "all_to_all"
    if is_agreed:
        shown = rounds = _rounds(max(vector.sizes, default=0), length)
    else:
        shown = _rounds(max((p.stop - p.start for p in put), default=0), length)
        rounds = max(shown, _rounds(max((p.stop - p.start for p in taken), default=0), length))
    leads = schedule.collective in ("broadcast", "scatter") and rank == root
    return Showing(
        tuple(acts[:last]), tuple(acts[last:]), length, rounds, shown, tuple(scratch), is_agreed, leads
    )  # fmt: skip


def _rounds(count: int, length: int) -> int:
    return max(1, -(-count // length))
