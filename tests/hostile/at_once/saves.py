"""Savers and readers of one folder, of which one may be killed.

A saver reports success only of what loads; a reader loads one whole checkpoint each time, and never an error. In the end two
generations are there, and nothing that a killed one has left.
"""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import minitorch_dist as mtd
from minitorch_dist.distributed import checkpoint as dcp
from tests.hostile.faults import blows, nursery
from tests.hostile.faults.nursery import Fell
from tests.hostile.judging import Verdict
from tests.hostile.running import Tried
from transports import keeper

SAVES = 6  # of each saver
LASTS = 0.1  # seconds, about
OF_OTHERS = "model-00001-of-00002.safetensors"


def state(fill: float, size: int) -> dict[str, Any]:
    return {"w": mtd.full((size, 3), fill), "b": mtd.full((3,), fill), "step": fill}


def save(place: str, step: float, size: int) -> None:
    dcp.save(state(step, size), checkpoint_id=place, no_dist=True)


def load(place: str, size: int) -> float:
    found = state(np.nan, size)
    dcp.load(found, checkpoint_id=place, no_dist=True)
    values = {found["step"], *found["w"].numpy().ravel().tolist(), *found["b"].tolist()}
    if len({round(value, 3) for value in values}) != 1:
        raise Fell(f"a checkpoint of several saves: {values}")
    return float(found["step"])


def work(rank: int, size: int, begun: Any, place: str, savers: int, length: int) -> int:
    begun()
    for turn in range(SAVES):
        if rank < savers:
            save(place, 100.0 * rank + turn, length)
            load(place, length)
        else:
            for _ in range(3):
                load(place, length)
            time.sleep(0.001)
    return SAVES


class Saves:
    def __init__(self, seed: int, folder: Path) -> None:
        self.seed, self.folder = seed, folder

    def attempt(self, number: int) -> Tried:
        random = Random(f"saves-and-readers/{self.seed}/{number}")
        top = self.folder / f"{number}"
        place = top / "checkpoint"
        place.mkdir(parents=True)
        try:
            return Tried(self._judged(random, top, place))
        finally:
            shutil.rmtree(top)

    def _judged(self, random: Random, top: Path, place: Path) -> Verdict:
        savers, readers = random.choice((1, 2, 2, 3)), random.choice((0, 1, 2))
        length = random.choice((0, 1, 5, 1000, 100_000))
        (place / OF_OTHERS).write_bytes(b"of others")
        save(f"{place}", 7.0, length)
        blow = None
        if random.random() < 0.5:
            blow = blows.draw(random, savers + readers, LASTS, ("kill", "freeze"))
        ends = nursery.run(work, savers + readers, blow, top, f"{place}", savers, length)
        for rank, end in enumerate(ends):
            is_killed = blow is not None and blow.kind == "kill" and rank == blow.victim
            if not end.is_done and not (is_killed and end is nursery.DIED):
                who = "saver" if rank < savers else "reader"
                raise Fell(f"{who} {rank} of {len(ends)}: {end.kinds[:1]} {end.text}\n{end.trace}")
        load(f"{place}", length)
        for turn in (1.0, 2.0):
            save(f"{place}", turn, length)
        if load(f"{place}", length) != 2.0:
            raise Fell("the last save is not what loads")
        names = keeper.names(place)
        if len(names) != 4 or (place / OF_OTHERS).read_bytes() != b"of others":
            raise Fell(f"there should be an index, two files of ours and one of others: {names}")
        return Verdict("accepted")

    def close(self) -> None: ...
