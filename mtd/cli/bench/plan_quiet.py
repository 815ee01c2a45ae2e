"""Turns that the machine's other work did not disturb.

    others = what all processors were busy with  -  what the measured processes used

The first number is the machine's own (`/proc/stat`), the second one that of each process (`/proc/<pid>/stat`). A turn is quiet
if others had at most `OTHERS` of the processors' time. Where the system has no such files, all turns count.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from transports.clock import PICO, SYSTEM

OTHERS: Final = 0.08  # the counters are ticks of 10 ms, so less cannot be told in a short turn
FEWEST: Final = 3  # turns that count at least
T = TypeVar("T")


class PlanTurn(NamedTuple):
    """`others`: the share of the processors' time that others had. `step`: seconds of a step."""

    others: float
    step: float


class OtherLoad:
    """Since it was made: the share of the machine's time that others than these processes had."""

    def __init__(self, pids: Sequence[int] = ()) -> None:
        self.pids = pids
        self.began, self.before = SYSTEM.now(), self._others()

    def share(self) -> float:
        seconds = (SYSTEM.now() - self.began) / PICO
        return max(0.0, (self._others() - self.before) / seconds / (os.cpu_count() or 1))

    def _others(self) -> float:
        return busy_seconds() - sum(map(used_seconds, self.pids)) - own_seconds()

    def __repr__(self) -> str:
        return f"<OtherLoad beside {len(self.pids)} processes>"


def busy_seconds() -> float:
    """Of all processors since the start of the machine."""
    try:
        words = Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()
    except OSError:
        return 0.0
    user, nice, system, _, _, irq, softirq, steal = map(int, words[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def used_seconds(pid: int) -> float:
    """Of the processors' time, by one process."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def own_seconds() -> float:
    """By this process, and by those of its children that have ended."""
    return sum(os.times()[:4])


def quiet(turns: Sequence[PlanTurn]) -> list[float]:
    """The steps of the quiet turns; those of the quietest ones if there are too few."""
    ordered = sorted(turns)
    count = sum(turn.others <= OTHERS for turn in ordered)
    return [turn.step for turn in ordered[: max(count, FEWEST)]]


def typical(turns: Sequence[PlanTurn]) -> float:
    return statistics.median(quiet(turns))


def quietest(function: Callable[[], T], tries: int = 4) -> T:
    """The result of the quietest of some calls, or of the first that is quiet."""
    found: list[tuple[float, T]] = []
    while len(found) < tries:
        load = OtherLoad()
        result = function()
        found.append((load.share(), result))
        if found[-1][0] <= OTHERS:
            break
    return min(found, key=lambda each: each[0])[1]
