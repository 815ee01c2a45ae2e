"""The program of one rank on a board, for the arrays of one operation.

`postings` says which chunks are put up and looked at. Here chunks become parts of arrays, and long ones are
cut. A *round* takes a slice of each chunk, so short that all places fit into one slot. Data that arrives
only to be passed on goes to scratch as long as a slice. So an operation of any size needs no memory but
the board's.

A block of an all_to_all concerns two ranks only, and its size is in no header. So there the writer says
for each place how many elements it has for it (`BoardEnd.count`), and the reader compares. These words stand behind the
header, so that the slot is free for data. If there are very many places, the others stand at the end of the slot.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

from minitorch_dist.distributed.execution.chunks import ChunkLayout, Name, Part, Vector
from minitorch_dist.distributed.mail import wire
from minitorch_dist.distributed.schedules import postings
from minitorch_dist.distributed.schedules.postings import NOTHING
from minitorch_dist.distributed.schedules.schedule import Schedule
from transports.board import FRONT, HEAD

ALIGNED: Final = 64  # bytes
WORD: Final = 8
BEHIND_HEADER: Final = (HEAD - FRONT - wire.MAX_HEADER) // WORD  # words for which there is room


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


class OwnPart(NamedTuple):
    """Copy or add a part of one's own."""

    into: Part
    of: Part
    operand: Part | None


Act: TypeAlias = Put | Take | OwnPart


class BoardProgram(NamedTuple):
    """`before`: up to the last thing that this rank puts up; `after`: what it does then. While it
    waits for others in one round, they can already have the next one of it."""

    before: tuple[Act, ...]
    after: tuple[Act, ...]
    length: int  # elements of a slice
    least: int  # elements of the shortest part
    rounds: int  # that this rank puts up, or takes part in
    shown: int  # rounds that it puts up; others are told
    scratch: tuple[Name, ...]
    is_agreed: bool  # whether all ranks have equally many rounds
    rivals: tuple[int, ...]  # ranks that may not put up anything else, and that this one takes nothing
    # from: all others, for the root of broadcast or scatter; the root, for the leaves of reduce or gather


@lru_cache(maxsize=1024)
def board_program(
    schedule: Schedule, rank: int, size: int, root: int | None, vector: Vector, room: int
) -> BoardProgram | None:
    """The program of `rank`, with slots of `room` bytes; None where they are too small."""
    steps = postings.program(schedule, rank, size, root)
    parts = ChunkLayout(schedule, rank, size, vector)
    is_agreed = schedule.collective != "all_to_all"
    if not is_agreed:
        room -= WORD * max(0, steps.places - BEHIND_HEADER)
    length = room // max(1, steps.places) // ALIGNED * ALIGNED // vector.itemsize
    if length < 1:
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
        return parts.held(chunk) if is_held else parts.place(chunk)

    for act in steps.acts:
        if isinstance(act, postings.BoardWrite):
            acts.append(Put(act.event, tuple((p, part_of(c, True)) for p, c in act.chunks)))
        elif isinstance(act, postings.BoardRead):
            operand = part_of(act.chunk, True) if act.reduce else None
            into = part_of(act.chunk, False)
            acts.append(Take(act.source, act.event, act.place, into, operand))
            parts.filled.add(act.chunk)
        else:
            of = part_of(act.of, True)
            operand = part_of(act.into, True) if act.reduce else None
            acts.append(OwnPart(part_of(act.into, False), of, operand))
            parts.filled.add(act.into)
    last = max((at + 1 for at, act in enumerate(acts) if isinstance(act, Put)), default=0)
    put = [part for act in acts if isinstance(act, Put) for _, part in act.parts]
    taken = [act.into for act in acts if isinstance(act, Take)]
    if is_agreed:
        shown = rounds = _rounds(max(vector.sizes, default=0), length)
    else:
        shown = _rounds(max((p.stop - p.start for p in put), default=0), length)
        rounds = max(shown, _rounds(max((p.stop - p.start for p in taken), default=0), length))
    rivals: tuple[int, ...] = ()
    if schedule.collective in ("broadcast", "scatter") and rank == root:
        rivals = tuple(other for other in range(size) if other != rank)
    elif schedule.collective in ("reduce", "gather") and root is not None and rank != root:
        rivals = (root,)
    own = [act.into for act in acts if isinstance(act, OwnPart)]
    least = min((p.stop - p.start for p in (*put, *taken, *own)), default=0)
    return BoardProgram(
        tuple(acts[:last]), tuple(acts[last:]), length, least, rounds, shown, tuple(scratch), is_agreed, rivals
    )


def _rounds(count: int, length: int) -> int:
    return max(1, -(-count // length))
