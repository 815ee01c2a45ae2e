"""The progress of a plan on the terminal. All that it finds is kept, so that the same command goes on where it was."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, Final

from minitorch_dist.distributed.schedules import choice
from mtd.planning import bounds, pruning
from mtd.planning.clusters import GpuCluster
from mtd.planning.layouts import TrainingLayout
from mtd.planning.model_files import ModelSizes
from mtd.planning.plan_cache import PlanCache
from mtd.planning.pruning import Candidate
from mtd.planning.search import PlanRow

EACH: Final = 10  # small runs, after which a line is told


def tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


class PlanProgress:
    def __init__(self, model: ModelSizes, cluster: GpuCluster, cache: PlanCache) -> None:
        self.model, self.cluster, self.cache = model, cluster, cache
        self._is_kept = True
        if cache.is_of_another_version:
            tell(f"{cache.path} is of another version: it is begun anew")

    @property
    def where(self) -> str:
        """Where the same command goes on, for somebody who stopped it."""
        if not self._is_kept:
            return f"what is done could not be kept in {self.cache.path}"
        return f"what is done is in {self.cache.path}, and the same command goes on"

    def bounded(self, rows: Sequence[PlanRow]) -> list[Candidate]:
        """The candidates with their bounds. They are told of while small runs are made for them."""
        number, made = bounds.count([row.layout for row in rows]), 0

        def known(named: tuple[Any, ...], measure: Callable[[], list[float]]) -> list[float]:
            nonlocal made
            decides = [asdict(self.model), named, self.cluster.key(), *choice.preferred()]
            key = json.dumps(decides, sort_keys=True)
            kept = self.cache.seconds.get(key)
            if kept is None:
                kept = measure()
                self._keep(lambda: self.cache.keep_seconds(key, kept))
                if (made + 1) % EACH == 0:
                    of = f" of {number}" if made < number else ""
                    tell(f"{made + 1}{of} small runs are made for it")
            made += 1
            return kept

        return pruning.candidates(self.model, self.cluster, rows, known)

    def before(self, every: Sequence[Candidate]) -> dict[TrainingLayout, PlanRow]:
        """The rows that were simulated before."""
        kept = {layout: self.cache.get(self._key(layout)) for layout, _ in every}
        found = {layout: row for layout, row in kept.items() if row is not None}
        if found:
            tell(f"{len(found)} simulated before, from {self.cache.path}")
        return found

    def keep(self, row: PlanRow) -> None:
        self._keep(lambda: self.cache.put(self._key(row.layout), row))

    def _key(self, layout: TrainingLayout) -> str:
        return self.cache.key(self.model, layout, self.cluster)

    def _keep(self, write: Callable[[], None]) -> None:
        """A full disk does not end a plan. It only cannot go on later."""
        try:
            write()
        except OSError as error:
            if self._is_kept:
                tell(
                    f"mtd plan: {self.cache.path} cannot be written ({error.strerror}); it goes on, and keeps nothing"
                )
            self._is_kept = False
