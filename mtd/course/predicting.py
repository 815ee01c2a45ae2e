"""Predictions: a number that is said before a run, and how far it was from the truth."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from statistics import median

from mtd.course.progress import Prediction

HALF = 4  # what is off by more than 2 to this is at the edge
MARK, EDGES = "●", ("«", "»")


def parse(text: str) -> float:
    """144, 1.5e3, 3/2, 2*72, 10_000; ValueError for anything else."""
    product = Fraction(1)
    for factor in text.replace("×", "*").replace("_", "").replace(",", "").split("*"):
        product *= Fraction(factor.strip().replace(" ", ""))
    return float(product)


def is_right(given: float, truth: float) -> bool:
    return math.isclose(given, truth, rel_tol=1e-6, abs_tol=1e-9)


def ratio(given: float, truth: float) -> float:
    """How many times the truth was guessed; infinite where that makes no sense."""
    if is_right(given, truth):
        return 1.0
    return given / truth if given > 0 and truth > 0 else math.inf


def strip(given: float, truth: float, width: int = 33) -> str:
    """`·····●····│·········`: where a prediction lies beside the truth, which is in the middle."""
    middle = width // 2
    cells = ["·"] * width
    cells[middle] = "│"
    times = ratio(given, truth)
    is_far = math.isinf(times)
    place = (-1, width)[given > truth] if is_far else middle + round(math.log2(times) * middle / HALF)
    if 0 <= place < width:
        cells[place] = MARK
    else:
        cells[0 if place < 0 else -1] = EDGES[place >= width]
    return "".join(cells)


def summary(found: Sequence[Prediction]) -> list[str]:
    """A summary in words: how good the guesses were, and whether the later ones were better."""
    if not found:
        return []
    lines = [f"{_share(found)}."]
    if len(found) >= 6:
        half = len(found) // 2
        lines.append(f"The first {half}: {_share(found[:half])}. The last {half}: {_share(found[-half:])}.")
    return lines


def by_part(found: Sequence[Prediction], parts: Mapping[float, str]) -> list[tuple[str, float, int]]:
    """Each part of the course, in order: how many times too much or too little in the middle, and of how many guesses."""
    shares: dict[str, list[float]] = {}
    for one in sorted(found, key=lambda one: one.lesson):
        if one.lesson in parts:
            shares.setdefault(parts[one.lesson], []).append(off(one))
    return [(part, median(factors), len(factors)) for part, factors in shares.items()]


def off(one: Prediction) -> float:
    """How many times too much or too little; 1 is exact."""
    times = ratio(one.given, one.truth)
    return max(times, 1 / times)


def furthest(found: Sequence[Prediction]) -> list[Prediction]:
    """Those worth another look: off by more than two, the furthest first."""
    return sorted([one for one in found if off(one) > 2], key=off, reverse=True)[:3]


def number(value: float) -> str:
    """8,000,000 and 1.33333; longer numbers as 1e+15."""
    return f"{value:,.0f}" if value == int(value) and abs(value) < 1e10 else f"{value:,.6g}"


def _share(found: Sequence[Prediction]) -> str:
    exact = sum(is_right(one.given, one.truth) for one in found)
    close = sum(0.5 <= ratio(one.given, one.truth) <= 2 for one in found)
    return f"{exact} of {len(found)} exact, {close} within a factor of two"
