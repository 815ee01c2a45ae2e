"""The time below which a layout cannot be, so that layouts that cannot win are not simulated.

    first micro-batch │ further ones      of one layer, on the ranks that it is cut over: measured by small runs
    ──────────────────┴─────────────
    bound = layers and logits of a rank × all its micro-batches + the wait for other stages of the pipeline
            + all that is sent and that no order of events can hide (`unhidden`)

A rank computes its layers one after the other, and a cut layer waits for its own collectives. So no order of events makes
a step shorter. The first part, `bounded`, is cheap: many layouts share its small runs. The second part is added where the
first one does not decide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple

from mtd.planning.clusters import GpuCluster
from mtd.planning.fold.folding import Fold
from mtd.planning.layouts import TrainingLayout
from mtd.planning.model_files import ModelSizes
from mtd.planning.training_step import pass_through
from transports.clock import PICO

Known = Callable[[Any, Callable[[], Any]], Any]
"""Asked for what is named, it measures, or takes what was measured before."""


def measure_anew(named: Any, measure: Callable[[], Any]) -> Any:
    return measure()


def remembered(known: Known) -> Known:
    """The same, asked once for each name."""
    found: dict[str, Any] = {}

    def once(named: Any, measure: Callable[[], Any]) -> Any:
        key = repr(named)
        if key not in found:
            found[key] = known(named, measure)
        return found[key]

    return once


class MicroBatchTimes(NamedTuple):
    """Seconds forwards and backwards, of the first micro-batch and of each further one."""

    layer: tuple[float, float]
    ends: tuple[float, float]  # logits and loss, and the embedding where there is no pipeline

    def of(self, layers: int, micro: int) -> float:
        first, further = (layers * layer + ends for layer, ends in zip(self.layer, self.ends, strict=True))
        return first + (micro - 1) * further


def bounded(
    model: ModelSizes, layouts: Sequence[TrainingLayout], cluster: GpuCluster, known: Known = measure_anew
) -> Iterator[float]:
    """The least time of each layout, without what is sent. Layouts that cut and compute a layer alike are measured once,
    and `known` may have it from before."""
    once = remembered(known)
    for layout in layouts:
        times = of_a_layer(model, layout, cluster, once)
        yield least(model, layout, times) / fastest(cluster)


def of_a_layer(
    model: ModelSizes, layout: TrainingLayout, cluster: GpuCluster, known: Known = measure_anew
) -> MicroBatchTimes:
    alone, is_last, ranks = _layer_of(layout)
    own = _own_experts(model, ranks)
    named = (alone.as_dict(), is_last, *([ranks] if ranks > 1 else []))
    a, b, c, d = known(named, lambda: [*chain(*measured(own, alone, is_last, cluster))])
    return MicroBatchTimes((a, b), (c, d))


def _own_experts(model: ModelSizes, ranks: int) -> ModelSizes:
    """A model with the experts of one of so many ranks, which have as many slots as where all ranks send words. All its layers have experts."""
    if not model.experts:
        return model
    own = model.experts // ranks
    top_k = min(model.top_k, own)
    return model.changed(experts=own, top_k=top_k, capacity=model.capacity * model.top_k / top_k, dense_layers=0)


def count(layouts: Sequence[TrainingLayout]) -> int:
    """How much `bounded` has to measure."""
    return len({*map(_layer_of, layouts)})


def _layer_of(layout: TrainingLayout) -> tuple[TrainingLayout, bool, int]:
    """All that decides what its layers take: alone, as a part of a pipeline, and with the experts of one of so many ranks."""
    alone = replace(
        layout, pipeline=1, shards=1, replicas=1, schedule="1F1B", stages=1, zero=3, scatters=True, experts=1
    )
    return alone, layout.pipeline > 1, layout.experts


def measured(model: ModelSizes, alone: TrainingLayout, is_last: bool, cluster: GpuCluster) -> MicroBatchTimes:
    """Runs of one and of two layers, with two micro-batches each. The difference is what a layer takes."""
    fold: Fold = False if alone.ranks == 1 else lambda rank: 0
    ends: list[tuple[float, float]] = []  # of the micro-batches, by the number of layers
    for layers in (1, 2):
        small = model.changed(layers=layers, batch=alone.micro)
        report = cluster.simulated(pass_through, alone.ranks, (small, alone, is_last), fold)
        first, second = (at / PICO for _, at in report.ranks[0].marks)
        ends.append((first, second - first))
        if report.folded is not None and not report.folded.refused:
            fold = report.folded
    one, two = ends
    layer = two[0] - one[0], two[1] - one[1]
    return MicroBatchTimes(layer, (one[0] - layer[0], one[1] - layer[1]))


def least(model: ModelSizes, layout: TrainingLayout, times: MicroBatchTimes) -> float:
    """The bound. In a pipeline it is that of the last rank. It waits for the first micro-batch to come forwards through
    the other stages, and the last one goes back through them."""
    of_stage = -(-(model.layers - model.dense_layers) // layout.all_stages)
    own = times.of(of_stage * layout.stages, layout.micro_batches(model))
    return own + (layout.pipeline - 1) * of_stage * min(times.layer)


def fastest(cluster: GpuCluster) -> float:
    """By how much the fastest rank is faster than the device."""
    return max([1.0, *(speed for _, speed in cluster.speeds)])
