"""All parts of the suite."""

from __future__ import annotations

import logging
import os
from pathlib import Path

from minitorch_dist.distributed.codec import trust
from tests.hostile import judging
from tests.hostile.at_once import at_once_parts
from tests.hostile.door import Door, Inputs
from tests.hostile.doors import all_doors
from tests.hostile.faults import fault_parts
from tests.hostile.folders import folder_parts
from tests.hostile.judging import LOOK, Judge
from tests.hostile.live import live_parts
from tests.hostile.running import Part, Session, Tried

REFUSALS = "minitorch_dist.distributed.rpc"  # it logs each request that it refuses: here, thousands
WARM = 30  # inputs of a door that are tried before it is watched: what they need is imported then


class Knocking:
    """A door, while it is tried. What is raised here is no peer's affair: pickle is forbidden."""

    def __init__(self, door: Door, seed: int) -> None:
        os.environ[trust.VARIABLE] = "0"
        logging.getLogger(REFUSALS).setLevel(logging.CRITICAL + 1)
        self.door, self.inputs, self.judge = door, Inputs(door, seed), Judge()
        judging.confine()
        for number in range(WARM):
            self.judge.judge(door, self.inputs.input(number), is_measured=False, is_watched=False)

    def attempt(self, number: int) -> Tried:
        given = self.inputs.input(number)
        return Tried(self.judge.judge(self.door, given, is_measured=number % LOOK == 0))

    def close(self) -> None: ...


def part_of(door: Door) -> Part:
    def open_it(seed: int, folder: Path) -> Session:
        return Knocking(door, seed)

    return Part(door.name, "door", open_it, door.weight)


def all_parts(folder: Path) -> list[Part]:
    """Every part; their files lie in `folder`."""
    doors = map(part_of, all_doors(folder))
    return [*doors, *live_parts(), *fault_parts(), *folder_parts(), *at_once_parts()]
