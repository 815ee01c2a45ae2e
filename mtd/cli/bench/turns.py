"""Several sides that take turns, one short measurement each, so that a noisy machine hits all of them."""

from __future__ import annotations

import statistics
import sys
import tracemalloc
from collections.abc import Callable, Iterable, Sequence
from time import perf_counter, process_time
from typing import Any, TypeVar

T = TypeVar("T")


def taking_turns(sides: Sequence[T], turns: int, measure: Callable[[T], float]) -> list[list[float]]:
    """The measurements of each side, turn by turn. Each turn begins with another side."""
    found: list[list[float]] = [[] for _ in sides]
    for turn in range(turns):
        for number in range(len(sides)):
            which = (number + turn) % len(sides)
            found[which].append(measure(sides[which]))
    return found


def filling(
    sides: Sequence[T], turns: int, seconds: float, ask: Callable[[T, int], float], most: int = 200
) -> list[list[float]]:
    """The same, where each side repeats its call so often that a measurement takes some `seconds`: `ask` times so many calls."""
    repeats = [max(1, min(most, round(seconds / max(ask(side, 2), 1e-7)))) for side in sides]
    return taking_turns([*zip(sides, repeats, strict=True)], turns, lambda each: ask(*each))


def ratio(times: Sequence[float], others: Sequence[float]) -> float:
    """The median of the ratios of neighbours in time."""
    return statistics.median(a / b for a, b in zip(times, others, strict=True))


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


def say(found: object) -> None:
    print(found, flush=True)


def answer_commands(
    prepare: Callable[[str], Callable[[], object]], barrier: Callable[[], object],
    commands: Iterable[str] = sys.stdin, answer: Callable[[Any], object] = say,
) -> None:  # fmt: skip
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
