"""One layout, as it would run: beside messages between stages, collectives are rings, as NCCL's (see the design page)."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from minitorch_dist.distributed.schedules import choice
from mtd.planning import search
from mtd.planning.clusters import GpuCluster
from mtd.planning.layouts import TrainingLayout
from mtd.planning.model_files import ModelSizes
from mtd.planning.search import Known, PlanRow


def predicted(
    model: ModelSizes, layout: TrainingLayout, cluster: GpuCluster, known: Known = search.measured
) -> PlanRow:
    rings: AbstractContextManager[Any] = nullcontext() if layout.pipeline == 1 else choice.preferring("ring")
    with rings:
        return search.simulated(model, layout, cluster, known)
