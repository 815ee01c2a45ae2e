"""All the ways in which a single message can go wrong, for programs that retry by themselves.

    for fault in single_faults(program, 3):                  drop=0>1#0, duplicate=0>1#0, …
        sim.run(program, 3, faults=sim.Plan((fault,), reliable=False))

The messages are those of a calm run. A message that a fault brings about (a retry) is not struck again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from minitorch_dist import sim
from transports import keeper, quantities
from transports.faults.plans import Strike, instant

KINDS = ("drop", "duplicate", "reorder")
LATE = "3s"  # by how much a message is overtaken
FIRST = ("first", "second", "third")


def single_faults(
    program: Callable[[], Any], size: int, kinds: Sequence[str] = KINDS, late: str = LATE
) -> list[Strike]:
    """Each message of a calm run, lost, or doubled, or so late that others overtake it."""
    with keeper.temporary_folder("mtd-") as folder:
        run = sim.run(program, size, journal=Path(folder) / "calm.mtd").journal
    ways = Counter(
        (message.send.rank, message.send.peer) for message in run.messages if message.send.rank != message.send.peer
    )
    return [
        Strike(kind, span=instant(late) if kind == "reorder" else 0, src=src, dst=dst, number=number)
        for (src, dst), count in sorted(ways.items())
        for number in range(count)
        for kind in kinds
    ]


def in_words(fault: Strike) -> str:
    """Which message was lost, doubled or late."""
    what = {"drop": "is lost", "duplicate": "comes twice", "reorder": f"comes {quantities.in_words(fault.span)} late"}
    number = 0 if fault.number is None else fault.number
    which = FIRST[number] if number < len(FIRST) else f"{number + 1}th"
    said = what.get(fault.kind, f"meets {fault.kind}")
    return f"the {which} message from rank {fault.src} to rank {fault.dst} {said}"
