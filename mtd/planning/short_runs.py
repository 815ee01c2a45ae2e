"""Which short steps tell a long one: so many layers of each stage, and so many micro-batches.

    layers           L or 2L         micro-batches    m or m + period
    ─────────────────────────►       ─────────────────────────────────►  the whole: a line through them

Where stages of a pipeline wait for messages, neither adds the same time each time.

Layers: with few of them messages decide how long a step takes, with many computing does. A line is right on one side only. So L
layers take at least as long forwards as a message takes to the next stage.

Micro-batches: rank a waits for a result of rank b, which waits for one of rank a. Such a circle over c stages brings c
micro-batches, and the slowest circle sets the pace. So odd and even ones may add different times (c = 2), and the pattern
comes again after c ≤ P. The period is a multiple of P and, where that is short enough, of all c ≤ 4. Both short runs
leave the rest that the long one leaves, divided by the period. A pipeline is full before.

A long step that is not much longer than the short ones is run itself. `tests/sim/test_short_runs.py` holds all this to steps
that are run whole, and `docs/design/planning.md` tells how it was found.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from mtd.planning import formula
from mtd.planning.clusters import GpuCluster
from mtd.planning.layouts import TrainingLayout
from mtd.planning.model_files import ModelSizes

LEAST: Final = 2  # layers: fewer may be all first or last ones
WHERE_AHEAD: Final = 4  # so many, where up to three are gathered at once
PERIOD: Final = 12  # of micro-batches: a multiple of 1, 2, 3 and 4
MEMORY: Final = "memory "  # of a stage, by category: how the name of such a value begins
Run = tuple[int, int]  # layers of each stage, and micro-batches


@dataclass(frozen=True)
class ShortRuns:
    """`layers` and `micro` have one or two numbers, the smaller one first. `whole` is the step that they tell. `fills`: a
    pipeline holds no more, however many micro-batches follow, but only the larger number fills it."""

    whole: Run
    layers: list[int]
    micro: list[int]
    fills: bool = False

    @property
    def sizes(self) -> list[Run]:
        return list(itertools.product(self.layers, self.micro))

    def told(self, runs: Mapping[Run, Mapping[str, float]]) -> dict[str, float]:
        """Each value of the whole, from those of the short runs."""
        return {word: self._value(runs, word) for word in next(iter(runs.values()))}

    def _value(self, runs: Mapping[Run, Mapping[str, float]], word: str) -> float:
        """First along the layers, then along the micro-batches."""
        layers, micro = self.whole
        counts = self.micro[-1:] if self.fills and word.startswith(MEMORY) else self.micro
        by_micro = [_line(self.layers, [runs[n, m][word] for n in self.layers], layers) for m in counts]
        return _line(counts, by_micro, micro)


def of(model: ModelSizes, layout: TrainingLayout, cluster: GpuCluster) -> ShortRuns:
    """The short runs that tell a step by this layout."""
    whole = -(-model.layers // layout.all_stages), layout.micro_batches(model)
    return chosen(layout, whole, least_layers(model, layout, cluster))


def chosen(layout: TrainingLayout, whole: Run, least: int) -> ShortRuns:
    """Those with at least so many layers."""
    layers, micro = whole
    sizes = [least, 2 * least] if 2 * least < layers else [layers]
    return ShortRuns(whole, sizes, counts(layout, micro), layout.stages > 1)


def least_layers(model: ModelSizes, layout: TrainingLayout, cluster: GpuCluster) -> int:
    """So many that computing them forwards takes as long as a message to the next stage."""
    if layout.pipeline == 1:
        return WHERE_AHEAD if layout.ahead else LEAST
    message = formula.message(model, layout, cluster)
    return max(LEAST, math.ceil(message / formula.forward(model, layout, cluster)))


def counts(layout: TrainingLayout, micro: int) -> list[int]:
    """Two numbers of micro-batches, or that of the whole step if this is hardly more."""
    stages = layout.pipeline
    first, after = 2 * stages, period(stages)
    few = first + (micro - first) % after
    return [few, few + after] if few + after < micro else [micro]


def period(stages: int) -> int:
    """After so many micro-batches the same pattern comes again. For more than 4 stages it may be nearly the same."""
    if stages == 1:
        return 1
    return PERIOD if PERIOD % stages == 0 else 2 * stages


def full(layout: TrainingLayout) -> int:
    """So many micro-batches fill a pipeline: interleaved schedules take them in multiples of P."""
    stages = layout.pipeline
    return 3 * stages if layout.stages > 1 else stages + 2


def _line(points: list[int], values: list[float], at: int) -> float:
    if len(points) == 1:
        return values[0]
    return values[0] + (values[1] - values[0]) * (at - points[0]) / (points[1] - points[0])
