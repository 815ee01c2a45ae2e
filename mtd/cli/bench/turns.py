"""Several sides that take turns, one short measurement each, so that a noisy machine hits all of them."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Sequence
from time import perf_counter, process_time
from typing import TypeVar

T = TypeVar("T")


def taking_turns(sides: Sequence[T], turns: int, measure: Callable[[T], float]) -> list[list[float]]:
    """The measurements of each side, turn by turn. Each turn begins with another side."""
    found: list[list[float]] = [[] for _ in sides]
    for turn in range(turns):
        for number in range(len(sides)):
            which = (number + turn) % len(sides)
            found[which].append(measure(sides[which]))
    return found


def ratio(times: Sequence[float], others: Sequence[float]) -> float:
    """The median of the ratios of neighbours in time."""
    return statistics.median(a / b for a, b in zip(times, others, strict=True))


def timed(act: Callable[[], object], repeats: int) -> float:
    """Seconds of one call among several."""
    start = perf_counter()
    for _ in range(repeats):
        act()
    return (perf_counter() - start) / repeats


def answer_commands(prepare: Callable[[str], Callable[[], object]], barrier: Callable[[], object]) -> None:
    """One rank answers each line `what repeats` with the seconds of one call, until the input ends.

    `processor 0` asks how many seconds of processor time the last calls took, each in all threads of this rank.
    """
    known: dict[str, Callable[[], object]] = {}
    processor = 0.0
    print("ready", flush=True)
    for line in sys.stdin:
        what, _, repeats = line.rpartition(" ")
        if what == "processor":
            print(processor, flush=True)
            continue
        if what not in known:
            known[what] = prepare(what)
            for _ in range(3):  # buckets are rebuilt, buffers are touched
                known[what]()
        known[what]()
        barrier()
        before = process_time()
        answer = timed(known[what], int(repeats))
        processor = (process_time() - before) / int(repeats)
        print(answer, flush=True)


def duration(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"
