"""One rank: it runs the lesson's `program(wire)` and looks at its world's clock.

The same function runs in a thread of the simulator and in a process, so virtual and measured time
are read at the same two places. The first is before the program's first line, when all ranks are there; the second is after its last.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import minitorch_dist.distributed as dist
from minitorch_dist.distributed import world
from minitorch_dist.distributed.groups import resolve
from mtd.course import loading

TIMES = 3  # the first run also opens connections; the shortest counts


@dataclass(frozen=True)
class LessonWire:
    """The wire under a lesson's program."""

    name: str  # sim, tcp, file or mqtt
    address: str  # of the world
    folder: str  # that all ranks can reach
    patience: float  # seconds for which a rank waits for a message


def name_of(folder: Path) -> str:
    """Of the module that is the lesson's wire.py: the same in all processes, so functions in it can be sent."""
    return f"wire_{folder.name}"


def load(folder: Path) -> ModuleType:
    """The lesson's wire.py, with the learner's module as it is found now. Ranks of one process share it."""
    name = name_of(folder)
    if name in sys.modules:
        return sys.modules[name]
    try:
        return loading.load(folder / "wire.py", name)
    except BaseException:
        sys.modules.pop(name, None)
        raise


def run(folder: str, wire: LessonWire) -> tuple[list[Any], int]:
    """The results of the program, one for each time, and the least time that it took here, in picoseconds."""
    sys.dont_write_bytecode = True  # a file that is saved twice in one second would be taken for the first
    module = load(Path(folder))
    dist.barrier()
    resolve(None).set_timeout(wire.patience)
    clock, found, least = world.place().clock, [], 0
    for turn in range(TIMES):
        begun = clock.now()
        found.append(module.program(wire))
        took = clock.now() - begun
        least = took if turn == 0 else min(least, took)
        dist.barrier()
    return found, least
