"""Several sides that take turns, one short measurement each, so that a noisy machine hits all of them."""

from __future__ import annotations

import re
import resource
import statistics
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, NamedTuple


def taking_turns(sides: Sequence[str], turns: int, measure: Callable[[str], float]) -> dict[str, list[float]]:
    """The measurements of each side, turn by turn. Each turn begins with another side."""
    found: dict[str, list[float]] = {side: [] for side in sides}
    for turn in range(turns):
        for number in range(len(sides)):
            side = sides[(number + turn) % len(sides)]
            found[side].append(measure(side))
    return found


def filling(
    sides: Sequence[str], turns: int, seconds: float, ask: Callable[[str, int], float], most: int = 200
) -> dict[str, list[float]]:
    """The same, where each side repeats its call so often that a measurement takes some `seconds`: `ask` times so many calls."""
    repeats = {side: max(1, min(most, round(seconds / max(ask(side, 2), 1e-7)))) for side in sides}
    return taking_turns(sides, turns, lambda side: ask(side, repeats[side]))


class TimedRow(NamedTuple):
    """One thing that is timed: seconds, and seconds of the processor, of each side, turn by turn."""

    name: str
    times: dict[str, list[float]]
    processor: Mapping[str, list[float]] = {}

    def median(self, side: str) -> float:
        return statistics.median(self.times[side])

    def said(self, side: str) -> str:
        return duration(self.median(side))

    def ratio(self, ours: str, theirs: str) -> float:
        return neighbours(self.times, ours, theirs)

    def processor_ratio(self, ours: str, theirs: str) -> float:
        return neighbours(self.processor, ours, theirs)

    def beside(self, goal: float) -> list[str]:
        """The cells of a table: the time of the first side; and of another one its time, the ratio, and the goal of that."""
        ours, *others = self.times
        cells = [self.said(ours)]
        for other in others:
            cells += [self.said(other), f"{self.ratio(ours, other):.2f}", f"≤ {goal}"]
        return cells


def neighbours(found: Mapping[str, Sequence[float]], ours: str, theirs: str) -> float:
    """The median of the ratios of neighbours in time."""
    return statistics.median(a / b for a, b in zip(found[ours], found[theirs], strict=True))


def mean_and_worst(ratios: dict[str, float], goals: Sequence[float] = ()) -> str:
    """`geometric mean 0.13, worst 0.47 (send_recv 64MB)`; with the goals of both."""
    worst = max(ratios, key=lambda row: ratios[row])
    mean, most = (f", goal ≤ {goal}" for goal in goals) if goals else ("", "")
    return f"geometric mean {statistics.geometric_mean(ratios.values()):.2f}{mean}, worst {ratios[worst]:.2f} ({worst}){most}"


def timed(act: Callable[[], object], repeats: int) -> float:
    """Seconds of one call among several."""
    start = perf_counter()
    for _ in range(repeats):
        act()
    return (perf_counter() - start) / repeats


def peak_memory() -> float:
    """The most MB that this process has had. Linux's own count begins anew with each program; that of getrusage with the parent's."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(re.findall(r"VmHWM:\s+(\d+) kB", status.read_text())[0]) * 1024 / 1e6
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def in_a_process(program: str) -> list[float]:
    """The numbers that a program prints in a fresh process."""
    return [*map(float, subprocess.check_output([sys.executable, "-c", program], text=True).split())]


def say(found: object) -> None:
    print(found, flush=True)


def answer_commands(
    prepare: Callable[[str], Callable[[], object]],
    barrier: Callable[[], object],
    commands: Iterable[str] = sys.stdin,
    answer: Callable[[Any], object] = say,
) -> None:
    """One rank answers each line `what repeats` with the seconds of one call, until the input ends.

    `processor 0` asks how many seconds of processor time the last calls took, each in all threads of this rank; `memory 0` how many
    bytes Python and numpy hold at most during one more such call.
    """
    known: dict[str, Callable[[], object]] = {}
    act, processor = barrier, 0.0
    barrier()
    answer(0.0)  # it is ready
    for line in commands:
        what, _, repeats = line.rpartition(" ")
        if what == "processor":
            answer(processor)
            continue
        if what == "memory":
            answer(float(_peak(act)))
            continue
        if what not in known:
            known[what] = prepare(what)
            for _ in range(3):  # buckets are rebuilt, buffers are touched
                known[what]()
        act = known[what]
        act()
        barrier()
        before = process_time()
        found = timed(act, int(repeats))
        processor = (process_time() - before) / int(repeats)
        answer(found)


def _peak(act: Callable[[], object]) -> int:
    """A board is not among the bytes."""
    tracemalloc.start()
    try:
        act()
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        act()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def duration(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"
