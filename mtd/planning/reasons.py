"""Why one layout is slower than another, in words; and the cost of failing nodes."""

from __future__ import annotations

import math
from typing import NamedTuple

from mtd.planning.search import PlanRow

WORDS = {
    "computing": "it computes for longer",
    "sending": "more of what it sends is hidden by nothing",
    "waiting": "ranks wait longer for each other",
}


def why_slower(row: PlanRow, best: PlanRow) -> str:
    """The part of the step that grew most."""
    slower = row.seconds - best.seconds
    if slower < 0 and not row.fits:
        return f"{-slower:.3g} s faster, but it does not fit"
    if slower <= 0:
        return "as fast"
    most, seconds = max(grown(row, best), key=lambda part: part[1])
    return f"{WORDS[most]}: {seconds:+.3g} s of {slower:+.3g} s"


def grown(row: PlanRow, than: PlanRow) -> list[tuple[str, float]]:
    """By how many seconds each part of the step is longer than another's."""
    both = ([one.seconds * one.shares.get(name, 0.0) for one in (row, than)] for name in WORDS)
    return [(name, here - there) for name, (here, there) in zip(WORDS, both, strict=True)]


class Failures(NamedTuple):
    """A run with checkpoints and restarts. Times in seconds."""

    interval: float  # between two checkpoints
    factor: float  # by which the run takes longer than without failures


def with_failures(mtbf: float, saving: float, restart: float) -> Failures:
    """The best interval, by Daly's second order of Young's formula (doi:10.1016/j.future.2004.11.016), and the
    time of the whole. Failures come as a Poisson process with this mean time between them."""
    if not (0 < mtbf < math.inf and 0 < saving < math.inf and 0 <= restart < math.inf):
        raise ValueError(
            f"times of failures are above 0: got mtbf={mtbf:g} s, saving={saving:g} s, restart={restart:g} s"
        )
    if saving >= 2 * mtbf:
        interval = mtbf
    else:
        share = saving / (2 * mtbf)
        interval = math.sqrt(2 * saving * mtbf) * (1 + math.sqrt(share) / 3 + share / 9) - saving
    try:
        lost = math.exp(restart / mtbf) * math.expm1((interval + saving) / mtbf)
    except OverflowError:
        raise ValueError(
            f"with a failure every {mtbf:g} s a run never ends: it restarts in {restart:g} s and saves in {saving:g} s"
        ) from None
    return Failures(interval, mtbf * lost / interval)
