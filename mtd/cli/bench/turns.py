"""Several sides that take turns, one short measurement each, so that a noisy machine hits all of them."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from time import perf_counter
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


def duration(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"
