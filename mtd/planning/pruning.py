"""Which layouts are worth a simulation: those that can still be faster than the fastest one so far.

    candidates, the most promising first ──► simulate one ──► those that cannot be faster are left out

The fastest layout is the same as without leaving any out.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from mtd.planning import bounds, unhidden_time
from mtd.planning.bounds import Known, measure_anew
from mtd.planning.clusters import GpuCluster
from mtd.planning.layouts import TrainingLayout
from mtd.planning.model_files import ModelSizes
from mtd.planning.search import PlanRow

NEAR: Final = 1.05


class Candidate(NamedTuple):
    """A layout, and the seconds than which a step cannot be faster."""

    layout: TrainingLayout
    least: float


class Standing(NamedTuple):
    """The candidates, after some of them were simulated."""

    done: list[PlanRow]
    open: list[TrainingLayout]  # worth a simulation, the most promising first
    rest: list[Candidate]  # cannot be faster, or are more than were asked for


def candidates(
    model: ModelSizes, cluster: GpuCluster, rows: Sequence[PlanRow], known: Known = measure_anew
) -> list[Candidate]:
    """The most promising first: a step takes the least time, or what the formula says if that is longer. Messages
    are counted where computing alone is `NEAR` the lowest bound; the others are seldom asked for."""
    once = bounds.remembered(known)
    layouts = [row.layout for row in rows]
    least = list(bounds.bounded(model, layouts, cluster, once))
    coming = [(max(s, row.seconds), row.seconds, n) for n, (s, row) in enumerate(zip(least, rows, strict=True))]
    heapq.heapify(coming)
    order: list[int] = []
    lowest, is_counted = math.inf, [False] * len(rows)
    while coming:
        promised, by_formula, number = heapq.heappop(coming)
        if not is_counted[number] and least[number] <= NEAR * lowest:
            is_counted[number] = True
            least[number] += unhidden_time.unhidden(model, layouts[number], cluster, once)
            promised = max(promised, least[number])
            heapq.heappush(coming, (promised, by_formula, number))
            continue
        if is_counted[number]:
            lowest = min(lowest, least[number])
        order.append(number)
    return [Candidate(layouts[number], least[number]) for number in order]


def standing(every: Sequence[Candidate], found: Mapping[TrainingLayout, PlanRow], most: int) -> Standing:
    """At most `most` are simulated. Others may be `found`, too, where several run at once. They do not count, so the
    answer is that of one after the other."""
    done: list[PlanRow] = []
    open_layouts: list[TrainingLayout] = []
    rest: list[Candidate] = []
    fastest = math.inf
    for each in every:
        if len(done) + len(open_layouts) == most or each.least >= fastest:
            rest.append(each)
            continue
        row = found.get(each.layout)
        if row is None:
            open_layouts.append(each.layout)
            continue
        done.append(row)
        if row.fits:
            fastest = min(fastest, row.seconds)
    return Standing(done, open_layouts, rest)
