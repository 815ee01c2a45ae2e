"""The progress of a plan on the terminal. All that it finds is kept, so that the same command goes on where it was."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, Final

from mtd.planning import bounds, pruning
from mtd.planning.clusters import GpuCluster
from mtd.planning.layouts import TrainingLayout
from mtd.planning.model_files import ModelSizes
from mtd.planning.plan_cache import ROWS, RUNS, SECONDS, PlanCache
from mtd.planning.pruning import Candidate
from mtd.planning.search import Measured, PlanRow
from mtd.planning.short_runs import Run

EACH: Final = 10  # small runs, after which a line is told
LONG: Final = 3.0  # seconds of a short run that is told of


def tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


class PlanProgress:
    def __init__(self, model: ModelSizes, cluster: GpuCluster, cache: PlanCache) -> None:
        self.model, self.cluster, self.cache = model, cluster, cache

    def bounded(self, rows: Sequence[PlanRow]) -> list[Candidate]:
        """The candidates with their bounds. They are told of while small runs are made for them."""
        number, made = bounds.count([row.layout for row in rows]), 0

        def known(named: Any, measure: Callable[[], Any]) -> Any:
            nonlocal made
            key = self.cache.key(self.model, named, self.cluster)
            kept = self.cache.get(SECONDS, key)
            if kept is None:
                kept = measure()
                self.cache.keep(SECONDS, key, kept)
                if (made + 1) % EACH == 0:
                    of = f" of {number}" if made < number else ""
                    tell(f"{made + 1}{of} small runs are made for it")
            made += 1
            return kept

        return pruning.candidates(self.model, self.cluster, rows, known)

    def before(self, every: Sequence[Candidate]) -> dict[TrainingLayout, PlanRow]:
        """The rows that were simulated before."""
        kept = {layout: self.cache.get(ROWS, self._key(layout)) for layout, _ in every}
        found = {layout: row for layout, row in kept.items() if row is not None}
        if found:
            tell(f"{len(found)} simulated before, from {self.cache.path}")
        return found

    def keep(self, row: PlanRow) -> None:
        self.cache.keep(ROWS, self._key(row.layout), row.as_dict())

    def _key(self, layout: TrainingLayout) -> str:
        return self.cache.key(self.model, layout, self.cluster)

    def short_run(self, layout: TrainingLayout, size: Run, measure: Callable[[], Measured]) -> Measured:
        """One of the runs that tell a layout's step: kept, and told of, where it takes long."""
        layers, micro = size
        key, begin = self.cache.key(self.model, layout, self.cluster, layers, micro), perf_counter()
        said = f"{layers} layers in each stage, and {micro} micro-batches of a step"
        kept: Measured | None = self.cache.get(RUNS, key)
        if kept is not None:
            tell(f"{said}: simulated before, from {self.cache.path}")
            return kept
        found = measure()
        if perf_counter() - begin > LONG:
            self.cache.keep(RUNS, key, found)
            tell(f"{said}: {found['seconds']:.3g} s, simulated in {perf_counter() - begin:.0f} s")
        return found
