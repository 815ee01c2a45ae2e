"""Which layouts are worth a simulation: those that can still be faster than the fastest one so far.

    candidates, the most promising first ──► simulate one ──► those that cannot be faster are left out

The fastest layout is the same as without leaving any out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from minitorch_dist.sim.planning import bounds
from minitorch_dist.sim.planning.bounds import Known, measure_anew
from minitorch_dist.sim.planning.clusters import GpuCluster
from minitorch_dist.sim.planning.layouts import TrainingLayout
from minitorch_dist.sim.planning.model_files import ModelSizes
from minitorch_dist.sim.planning.search import PlanRow


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
    """The most promising first: a step takes the least time, or what the formula says if that is longer."""
    layouts = [row.layout for row in rows]
    least = list(bounds.bounded(model, layouts, cluster, known))
    promised = [max(each, row.seconds) for each, row in zip(least, rows, strict=True)]
    order = sorted(range(len(rows)), key=lambda number: (promised[number], rows[number].seconds))
    return [Candidate(layouts[number], least[number]) for number in order]


def standing(
    every: Sequence[Candidate], found: Mapping[TrainingLayout, PlanRow], most: int
) -> Standing:
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
