"""Prove of a schedule that each element ends up with every rank's contribution exactly once.

The schedule is played with labels for numbers. A chunk holds no sum: it holds how often each rank is
in it, and the number of the chunk that this is a part of. Adding adds the counts, copying copies
both. At the end they must be what the collective promises:

    all_reduce, 3 ranks           begin            end
      chunk 0 on rank 0           {0}              {0, 1, 2}
      chunk 0 on rank 1           {1}              {0, 1, 2}

This is independent of values, dtypes and operations; a mistake that happens to give the right
numbers (all ones, two ranks) has no chance. A fault is described in words: "element 7 on rank 1
has rank 3 twice and lacks rank 0".

`prove` raises at the first complaint; `examine` lists them all. It also finds schedules that stand still where
sends wait for their receivers, and, given a `budget`, those that send too many bytes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from minitorch_dist.distributed.schedules import bounds
from minitorch_dist.distributed.schedules.replay import Replay
from minitorch_dist.distributed.schedules.schedule import Schedule, ScheduleError

MANY = 8  # ranks that a complaint names
Counts = NDArray[np.int64]
Mask = NDArray[np.bool_]
REDUCING = ("reduce", "all_reduce", "reduce_scatter")
IN_BLOCKS = ("gather", "scatter", "all_gather", "reduce_scatter")  # a chunk is what one rank gives or gets


def starts(collective: str, size: int, total: int, root: int) -> Mask:
    """Which rank (row) holds which chunk (column) at first."""
    rank, chunk = np.arange(size)[:, None], np.arange(total)[None, :]
    if collective in ("broadcast", "scatter"):
        return np.broadcast_to(rank == root, (size, total))
    if collective in ("gather", "all_gather"):
        return np.equal(rank, chunk)
    if collective == "all_to_all":
        return np.equal(rank, chunk // size)
    return np.ones((size, total), dtype=bool)


def ends(collective: str, size: int, total: int, root: int) -> Mask:
    """Which rank must hold which chunk at last."""
    rank, chunk = np.arange(size)[:, None], np.arange(total)[None, :]
    if collective in ("reduce", "gather"):
        return np.broadcast_to(rank == root, (size, total))
    if collective in ("scatter", "reduce_scatter"):
        return np.equal(rank, chunk)
    if collective == "all_to_all":
        return np.equal(rank, chunk % size)
    return np.ones((size, total), dtype=bool)


def due(collective: str, size: int, total: int, root: int) -> Counts:
    """The parts of each chunk (row) in the end: how often each rank (column) has to be in it."""
    if collective in REDUCING:
        return np.ones((total, size), dtype=np.int64)
    return starts(collective, size, total, root).T.astype(np.int64)


class Labels:
    """Contents for `replay`: counts of contributions, of which chunk, and who has heard of whom."""

    def __init__(self, schedule: Schedule, size: int, root: int) -> None:
        self.schedule, self.size, self.total = schedule, size, schedule.total(size)
        self.held: list[dict[int, Counts]] = []
        self.origin: list[dict[int, int]] = []  # the chunk that these contributions are a part of
        first = starts(schedule.collective, size, self.total, root)
        for rank in range(size):
            own = np.zeros(size, dtype=np.int64)
            own[rank] = 1
            mine = [int(chunk) for chunk in np.flatnonzero(first[rank])]
            self.held.append(dict.fromkeys(mine, own))
            self.origin.append(dict(zip(mine, mine, strict=True)))
        self.heard = np.eye(size, dtype=bool)
        self.complaints: list[str] = []

    def take(self, rank: int, chunks: list[int]) -> Any:
        held, origin = self.held[rank], self.origin[rank]
        labels = [(held[chunk], origin[chunk]) if chunk in held else None for chunk in chunks]
        return labels, self.heard[rank].copy()

    def put(self, rank: int, chunks: list[int], message: Any, source: int, reduce: bool) -> None:
        labels, heard = message
        self.heard[rank] |= heard
        for chunk, label in zip(chunks, labels, strict=True):
            self._put(rank, chunk, label, f"what comes from rank {source}", reduce)

    def combine(self, rank: int, into: int, of: int, reduce: bool) -> None:
        if (into - of) % max(self.total, 1):
            self.complaints.append(f"rank {rank} combines chunk {of} into chunk {into}, and these may differ in length")
        ((label,), _) = self.take(rank, [of])
        self._put(rank, into, label, f"chunk {of}", reduce)

    def _put(self, rank: int, chunk: int, label: tuple[Counts, int] | None, what: str, reduce: bool) -> None:
        held, origins = self.held[rank], self.origin[rank]
        if label is None:
            self.complaints.append(f"rank {rank}: {what} into chunk {chunk} was never filled")
            return
        counts, origin = label
        if not reduce:
            held[chunk], origins[chunk] = counts, origin
        elif chunk not in held:
            self.complaints.append(
                f"rank {rank} adds {what} to chunk {chunk}, which holds nothing yet "
                "(zero would do for sums, not for maxima or products)"
            )
            held[chunk], origins[chunk] = counts, origin
        else:
            if origin != origins[chunk]:
                self.complaints.append(
                    f"rank {rank} adds {what} to chunk {chunk}, but one is a part of chunk {origin} "
                    f"and the other of chunk {origins[chunk]}"
                )
            held[chunk] = held[chunk] + counts


def examine(
    schedule: Schedule, size: int, count: int | None = None, *, root: int | None = None, budget: float | None = None
) -> list[str]:
    """All that is wrong with `schedule` for vectors of `count` elements, in words; [] is a proof.

    With `budget` no rank may send more than so many times the least that is possible.
    """
    count = 2 * size + 1 if count is None else count
    total, fixed = schedule.total(size), _chunks_of(schedule.collective, size)
    if fixed not in (None, total):
        return [f"{schedule.collective} has {fixed} chunks among {size} ranks, not {total}"]
    labels = Labels(schedule, size, root or 0)
    try:
        replay = Replay(schedule, size, count, root=root, contents=labels).run()
        Replay(schedule, size, count, root=root, rendezvous=True).run()
    except ScheduleError as error:
        return [*labels.complaints, str(error)]
    complaints = [*labels.complaints, *_wrong(schedule, labels, count, root or 0)]
    least = bounds.least_bytes(schedule.collective, size, count)
    if budget is not None and max(replay.sent) > budget * least:
        worst = replay.sent.index(max(replay.sent))
        complaints.append(
            f"rank {worst} sends {replay.sent[worst]} elements of a vector of {count}, where {float(least):g} would do"
        )
    return complaints


def prove(schedule: Schedule, size: int, count: int | None = None, root: int | None = None) -> None:
    """Return if every element holds every contribution exactly once, else raise ScheduleError."""
    complaints = examine(schedule, size, count, root=root)
    if complaints:
        more = f" (and {len(complaints) - 1} more)" if len(complaints) > 1 else ""
        raise ScheduleError(f"{schedule} with {size} ranks: {complaints[0]}{more}")


def _chunks_of(collective: str, size: int) -> int | None:
    """How many chunks there have to be, where the ranks' arrays say so."""
    if collective in IN_BLOCKS:
        return size
    return size * size if collective == "all_to_all" else None


def _wrong(schedule: Schedule, labels: Labels, count: int, root: int) -> list[str]:
    """The faults at the end."""
    size, total, collective = labels.size, labels.total, schedule.collective
    if collective == "barrier":
        return [
            f"rank {rank} leaves before it can know that {_ranks(np.flatnonzero(~heard))} arrived"
            for rank, heard in enumerate(labels.heard)
            if not heard.all()
        ]
    wanted, where = due(collective, size, total, root), ends(collective, size, total, root)
    sizes = schedule.sizes(size, count)
    element = np.concatenate([[0], np.cumsum(sizes)])
    found = []
    for rank in range(size):
        for chunk in np.flatnonzero(where[rank]):
            if not sizes[chunk % len(sizes)]:
                continue  # an empty chunk holds no element that could be wrong
            held = labels.held[rank].get(int(chunk), np.zeros(size, dtype=np.int64))
            at, origin = element[chunk % len(sizes)], labels.origin[rank].get(int(chunk), chunk)
            if (held != wanted[chunk]).any():
                found.append(f"element {at} on rank {rank} {_difference(held, wanted[chunk])}")
            elif origin != chunk:
                found.append(f"element {at} on rank {rank} is one of chunk {origin}, not of {chunk}")
    if element[-1] != count:
        everyone = "the ranks but its own" if collective in REDUCING else "its owner"
        found.append(
            f"element {element[-1]} on every rank lacks {everyone}: it is in no chunk "
            f"({element[-1]} of {count} elements are)"
        )
    return found


def _difference(held: Counts, wanted: Counts) -> str:
    parts = [
        f"has rank {rank} {_times(int(times))}" + ("" if wanted[rank] else ", which does not belong there")
        for rank, times in enumerate(held)
        if times > wanted[rank]
    ]
    if len(parts) > MANY:
        parts[MANY:] = [f"{len(parts) - MANY} more ranks too often"]
    missing = np.flatnonzero(held < wanted)
    if len(missing):
        parts.append(f"lacks {_ranks(missing)}")
    return " and ".join(parts)


def _times(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


def _ranks(numbers: NDArray[Any]) -> str:
    names = [str(number) for number in numbers]
    if len(names) > MANY:
        names[MANY:] = [f"{len(names) - MANY} more"]
    if len(names) == 1:
        return f"rank {names[0]}"
    return f"ranks {', '.join(names[:-1])} and {names[-1]}"
