"""A deadlock in words: who is blocked, in what and where, whom each waits for, and the circle.

    deadlock at 1.204 ms: ranks 0, 1, 2 of 4 wait, and nothing is under way that could wake them
      rank 0 waits for rank 1 in all_reduce #17 of group 'dp', at train.py:41
      rank 1 waits for rank 0 in broadcast #17 of group 'dp', at train.py:44
      rank 2 waits for rank 1 in all_reduce #17 of group 'dp', at train.py:41
      rank 3 is finished, since 1.1 ms
    In a circle each waits for the next: 0 → 1 → 0. …

The words come from whom is waited on: a condition, or the inbox of a transport (`contract.Explains`).
The places are read from the frames of the blocked threads, so they cost nothing until then.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType

from transports.contract import Waiting
from transports.quantities import in_words
from transports.virtual.strands import Strand

INSIDE = ("transports", "minitorch_dist", "threading", "functools")


def report(
    now: int,
    heads: Sequence[Strand],
    blocked: Sequence[Strand],
    remark: Callable[[int], str] | None = None,
) -> str:
    """`heads` are the ranks, `blocked` all strands, each of which waits. `remark` knows more of a
    rank."""
    frames = sys._current_frames()
    waits: dict[int, list[int]] = {}
    lines = []
    for head in heads:
        if head.is_over:
            lines.append(f"  rank {head.rank} is finished, since {in_words(head.ended)}")
        for strand in blocked:
            if strand.head is head and (strand is head or waiting(strand).ranks):
                ranks, what = waiting(strand)
                waits.setdefault(head.rank, []).extend(ranks)
                who = f"rank {head.rank}" + ("" if strand is head else f", thread {strand.name!r},")
                more = remark(head.rank) if remark is not None and strand is head else ""
                where = _place(strand, frames)
                if where.removeprefix(", at ") in what:  # it says so itself
                    where = ""
                lines.append(
                    f"  {who} waits for {_object(ranks, what)}{where}{more and '; ' + more}"
                )
    stuck = [head.rank for head in heads if not head.is_over]
    return "\n".join(
        [
            f"deadlock at {in_words(now)}: {listed(stuck)} of {len(heads)} wait, and nothing is "
            "under way that could wake them",
            *(lines if len(lines) <= 40 else [*lines[:40], f"  … and {len(lines) - 40} more"]),
            advice(waits, [head.rank for head in heads if head.is_over]),
        ]
    )


def waiting(strand: Strand) -> Waiting:
    """Whom a blocked strand waits for."""
    return strand.why() if strand.is_parked and strand.why is not None else Waiting((), "")


def stands(strand: Strand) -> str:
    """In what a strand waits, and at which line; "" if it does not."""
    ranks, what = waiting(strand)
    if not (ranks or what):
        return ""
    return f"waits for {_object(ranks, what)}{_place(strand, sys._current_frames())}"


def advice(waits: dict[int, list[int]], over: Sequence[int]) -> str:
    """The likely cause and the next step."""
    circle = find_circle(waits)
    if circle:
        chain = " → ".join(map(str, [*circle, circle[0]]))
        return (
            f"In a circle each rank waits for the next: {chain}. One of them has to send before it "
            "waits, or they call different operations: compare what they wait for"
        )
    for rank, others in waits.items():
        gone = [other for other in others if other in over]
        if gone:
            return (
                f"Rank {rank} waits for {listed(gone)}, but {'it is' if len(gone) == 1 else 'they are'} "
                "finished: some ranks left out an operation (look for a branch that only some take), "
                "or others called one too many"
            )
    return (
        "Nobody sends what they wait for: compare what each rank waits for with what the others do"
    )


def find_circle(waits: dict[int, list[int]]) -> list[int]:
    """Ranks of which each waits for the next and the last for the first, or none."""
    done: set[int] = set()
    for start in waits:
        path: list[int] = []
        iterators = [iter([start])]
        while iterators:
            rank = next(iterators[-1], None)
            if rank is None:
                iterators.pop()
                if path:
                    done.add(path.pop())
            elif rank in path:
                return path[path.index(rank) :]
            elif rank not in done:
                path.append(rank)
                iterators.append(iter(waits.get(rank, ())))
    return []


def listed(ranks: Sequence[int]) -> str:
    """[0, 1, 2, 5] are "ranks 0-2, 5"."""
    runs: list[list[int]] = []
    for rank in ranks:
        if runs and rank == runs[-1][1] + 1:
            runs[-1][1] = rank
        else:
            runs.append([rank, rank])
    spans = [f"{a}" if a == b else f"{a}, {b}" if b == a + 1 else f"{a}-{b}" for a, b in runs]
    return ("rank " if len(ranks) == 1 else "ranks ") + (", ".join(spans) or "none")


def _object(ranks: Sequence[int], what: str) -> str:
    if ranks:
        return listed(list(dict.fromkeys(ranks))) + (f" in {what}" if what else "")
    return what or "something"


def _place(strand: Strand, frames: dict[int, FrameType]) -> str:
    """The innermost line of the user's own that the strand stands in."""
    frame = strand.frame(frames)
    while frame is not None:
        module = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if module not in INSIDE or frame.f_globals.get("PROGRAM", False):
            return f", at {Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
        frame = frame.f_back
    return ""
