"""The chunks that each rank held after each round of the operations in a journal.

A journal knows which algorithm carried out an operation, and a schedule is data. So the picture is
that of the schedule, drawn for the group's size.
"""

from __future__ import annotations

from minitorch_dist.distributed.journal.events import Event
from minitorch_dist.distributed.journal.run import Journal
from minitorch_dist.distributed.schedules import choice
from mtd.grids import contributions
from mtd.grids.grid import Grid

COLLECTIVES = {
    "all_gather_into_tensor": "all_gather",
    "all_gather_coalesced": "all_gather",
    "reduce_scatter_tensor": "reduce_scatter",
    "reduce_scatter_coalesced": "reduce_scatter",
    "all_to_all_single": "all_to_all",
    "all_reduce_coalesced": "all_reduce",
    "monitored_barrier": "barrier",
    "new_group": "barrier",
    "split_group": "barrier",
    "shrink_group": "barrier",
}


def grids(journal: Journal, most: int = 4, ranks: int = 16) -> list[Grid]:
    """One grid for each kind of operation, algorithm and size, at most so many."""
    sizes: dict[tuple[str, int], set[int]] = {}
    for begin, _ in journal.operations:
        sizes.setdefault((begin.group, begin.sequence), set()).add(begin.rank)
    found: dict[tuple[str, str, int], Grid] = {}
    for begin, _ in journal.operations:
        members = sorted(sizes[begin.group, begin.sequence])
        key = begin.operation, begin.algorithm, len(members)
        if key in found or len(found) >= most or not 1 < len(members) <= ranks:
            continue
        grid = _grid(begin, members)
        if grid is not None:
            found[key] = grid
    return list(found.values())


def _grid(begin: Event, members: list[int]) -> Grid | None:
    """None where the schedule is a user's own, which is not registered here."""
    collective = COLLECTIVES.get(begin.operation, begin.operation)
    root = members.index(begin.root) if begin.root in members else None
    if collective == "barrier":
        return None  # nobody holds anything
    try:
        schedule = choice.named(collective, begin.algorithm)
    except (ValueError, KeyError):
        return None
    return contributions.of_schedule(schedule, len(members), root, f"{begin.name}{begin.where}")
