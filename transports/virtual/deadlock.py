"""A deadlock in words: the blocked ranks, their calls and lines, the ranks they wait for, and the circle.

    deadlock at 1.204 ms: ranks 0, 1, 2 of 4 wait, and nothing is under way that could wake them
      rank 0 waits for rank 1 in all_reduce #17 of group 'dp', at train.py:41
      rank 1 waits for rank 0 in broadcast #17 of group 'dp', at train.py:44
      rank 2 waits for rank 1 in all_reduce #17 of group 'dp', at train.py:41
      rank 3 is finished, since 1.1 ms
    In a circle each waits for the next: 0 → 1 → 0. …

The words come from whom is waited on: a condition, or the question of a thread (`inboxes.ExplainedQuestion`).
The places are read from the frames of the blocked threads, so they cost nothing until then.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from types import FrameType
from typing import TypeVar

from transports.quantities import in_words
from transports.virtual.inboxes import Waiting
from transports.virtual.sim_thread import SimThread

T = TypeVar("T")
INSIDE = {"transports", "minitorch_dist", "threading", "functools", "queue", "concurrent", "contextlib"}


def report(
    now: int,
    heads: Sequence[SimThread],
    blocked: Mapping[SimThread, Waiting],
    remark: Callable[[int], str] | None = None,
) -> str:
    """`heads` are the ranks, `blocked` all simulated threads and what each waits for. `remark` knows more of a
    rank."""
    frames = sys._current_frames()
    waits: dict[int, list[int]] = {}
    lines = []
    of_rank: dict[SimThread, list[SimThread]] = {}
    for sim_thread in blocked:
        of_rank.setdefault(sim_thread.main, []).append(sim_thread)
    for main in heads:
        if main.is_over:
            lines.append(f"  rank {main.rank} is finished, since {in_words(main.ended)}")
        for sim_thread in of_rank.get(main, ()):
            ranks, what, *_ = blocked[sim_thread]
            if sim_thread is main or ranks:
                waits.setdefault(main.rank, []).extend(ranks)
                who = f"rank {main.rank}" + ("" if sim_thread is main else f", thread {sim_thread.name!r},")
                more = remark(main.rank) if remark is not None and sim_thread is main else ""
                where = _place(sim_thread, frames)
                if where.removeprefix(", at ") in what:  # it says so itself
                    where = ""
                lines.append(f"  {who} waits for {_object(ranks, what)}{where}{more and '; ' + more}")
    stuck = [main.rank for main in heads if not main.is_over]
    return "\n".join(
        [
            f"deadlock at {in_words(now)}: {listed(stuck)} of {len(heads)} wait, and nothing is "
            "under way that could wake them",
            *(lines if len(lines) <= 40 else [*lines[:40], f"  … and {len(lines) - 40} more"]),
            about_locks(blocked) or advice(waits, [main.rank for main in heads if main.is_over], senders(blocked)),
        ]
    )


def waiting(sim_thread: SimThread) -> Waiting:
    """The ranks that a blocked simulated thread waits for."""
    if not sim_thread.is_parked or sim_thread.why is None:
        return Waiting((), "")
    return sim_thread.why(*sim_thread.about or ())


def stands(sim_thread: SimThread) -> str:
    """In what a simulated thread waits, and at which line; "" if it does not."""
    ranks, what, *_ = waiting(sim_thread)
    if not (ranks or what):
        return ""
    return f"waits for {_object(ranks, what)}{_place(sim_thread, sys._current_frames())}"


def senders(blocked: Mapping[SimThread, Waiting]) -> list[int]:
    """The ranks that wait in sends, because nobody has posted the receives."""
    return sorted({sim_thread.main.rank for sim_thread, wait in blocked.items() if wait.is_send})


def advice(waits: dict[int, list[int]], over: Sequence[int], sending: Sequence[int] = ()) -> str:
    """The likely cause and the next step."""
    circle = find_circle(waits)
    if sending:
        return buffering(circle, sending)
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
                f"Rank {rank} waits for {listed(gone)}, but {'it is' if len(gone) == 1 else 'they are'} finished: some ranks "
                "left out an operation (look for a branch that only some take), or others called one too many"
            )
    return "Nobody sends or sets what they wait for: compare what each rank waits for with what the others do"


def about_locks(blocked: Mapping[SimThread, Waiting]) -> str:
    """The advice where a lock is never given back; "" where none is to blame."""
    holders = {one: [wait.held_by] for one, wait in blocked.items() if wait.held_by is not None}
    circle = find_circle(holders)
    if len(circle) == 1:
        return (
            f"{_called(circle[0]).capitalize()} waits for a lock that it holds itself. Take an RLock, or "
            "take the lock at one place only"
        )
    if circle:
        chain = " → ".join(map(_called, [*circle, circle[0]]))
        return (
            f"In a circle each waits for a lock that the next one holds: {chain}. Let all of them take these "
            "locks in the same order"
        )
    for one, [holder] in holders.items():
        if holder.is_over:
            return (
                f"{_called(one).capitalize()} waits for a lock that {_called(holder)} did not give back: take it in a "
                "with statement, or release it in finally"
            )
    return ""


def _called(sim_thread: SimThread) -> str:
    if sim_thread.main is sim_thread:
        return f"rank {sim_thread.rank}"
    return f"thread {sim_thread.name!r} of rank {sim_thread.rank}"


def buffering(circle: Sequence[int], sending: Sequence[int]) -> str:
    """The advice where sends wait for their receives."""
    one = len(sending) == 1
    chain = " → ".join(map(str, [*circle, *circle[:1]]))
    round_ = f"In a circle each rank waits for the next: {chain}. " if circle else ""
    return (
        f"{round_}{listed(sending).capitalize()} {'waits in a send' if one else 'wait in sends'}, since on "
        "this network a send returns when its receive is posted (rendezvous), as with NCCL, and with "
        f"MPI beyond its eager limit. Where sends are buffered, as ours are, {'it' if one else 'they'} would "
        "go on: this is no deadlock there. To need no buffer let one of them receive first, or "
        "begin with isend, or batch_isend_irecv, and wait afterwards"
    )


def find_circle(waits: Mapping[T, Sequence[T]]) -> list[T]:
    """Ranks (or threads) of which each waits for the next and the last for the first, or none."""
    try:
        TopologicalSorter(waits).prepare()
    except CycleError as error:
        circle: list[T] = error.args[1][:0:-1]
        start = circle.index(next(one for one in waits if one in circle))
        return circle[start:] + circle[:start]
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


def _place(sim_thread: SimThread, frames: dict[int, FrameType]) -> str:
    """The innermost line of the user's own that the simulated thread stands in."""
    return place(of_user(sim_thread.frame(frames)))


def of_user(frame: FrameType | None) -> FrameType | None:
    """The innermost frame that is not ours."""
    while frame is not None and not is_users(frame):
        frame = frame.f_back
    return frame


def is_users(frame: FrameType) -> bool:
    module = str(frame.f_globals.get("__name__", "")).partition(".")[0]
    return module not in INSIDE or bool(frame.f_globals.get("PROGRAM", False))


def place(frame: FrameType | None) -> str:
    return "" if frame is None else f", at {Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
