"""The time below which a layout cannot be, so that layouts that cannot win are not simulated.

    first micro-batch │ further ones      of one layer, on the ranks that it is cut over: measured by small runs
    ──────────────────┴─────────────
    bound = layers and logits of a rank × all its micro-batches + the wait for other stages of the pipeline
            + without a pipeline: a gather of each layer for each micro-batch, forwards

A rank computes its layers one after the other, and a cut layer waits for its own collectives. Forwards, `fully_shard`
gathers a layer when it is needed. So no order of events makes a step shorter. Other messages and the optimizer
only add to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import minitorch_dist as torch
from minitorch_dist.distributed.device_mesh import init_device_mesh
from minitorch_dist.sim import inside, runner
from minitorch_dist.sim.fold.folding import Fold
from minitorch_dist.sim.planning.clusters import GpuCluster
from minitorch_dist.sim.planning.layouts import TrainingLayout
from minitorch_dist.sim.planning.model_files import ModelSizes
from minitorch_dist.sim.planning.training_step import pass_through
from transports.clock import PICO

ROOM = 1 << 50  # bytes: memory is not asked for here


Known = Callable[[tuple[Any, ...], Callable[[], list[float]]], list[float]]
"""Asked for what is named, it measures, or takes what was measured before."""


def measure_anew(named: tuple[Any, ...], measure: Callable[[], list[float]]) -> list[float]:
    return measure()


class MicroBatchTimes(NamedTuple):
    """Seconds forwards and backwards, of the first micro-batch and of each further one."""

    layer: tuple[float, float]
    ends: tuple[float, float]  # logits and loss, and the embedding where there is no pipeline

    def of(self, layers: int, micro: int) -> float:
        first, further = (
            layers * layer + ends for layer, ends in zip(self.layer, self.ends, strict=True)
        )
        return first + (micro - 1) * further

    @property
    def numbers(self) -> list[float]:
        return [*self.layer, *self.ends]

    @staticmethod
    def of_numbers(numbers: Sequence[float]) -> MicroBatchTimes:
        a, b, c, d = numbers
        return MicroBatchTimes((a, b), (c, d))


def bounded(
    model: ModelSizes, layouts: Sequence[TrainingLayout], cluster: GpuCluster, known: Known = measure_anew
) -> Iterator[float]:  # fmt: skip
    """The least time of each layout. Layouts that cut and compute a layer alike are measured once, and `known` may have
    it from before."""
    layers = {
        key: MicroBatchTimes.of_numbers(
            known((key[0].as_dict(), key[1]), partial(_layer_numbers, model, *key, cluster))
        )
        for key in dict.fromkeys(map(_layer_of, layouts))
    }
    gathers = {
        cut: known(cut, partial(_gather_numbers, model, *cut, cluster))[0]
        for cut in dict.fromkeys(filter(None, map(_gather_of, layouts)))
    }
    for layout in layouts:
        seconds = least(model, layout, layers[_layer_of(layout)])
        cut = _gather_of(layout)
        if cut is not None:
            seconds += model.layers * layout.micro_batches(model) * gathers[cut]
        yield seconds / _fastest(cluster)


def count(layouts: Sequence[TrainingLayout]) -> int:
    """How much there is to measure."""
    return len({*map(_layer_of, layouts)}) + len({*filter(None, map(_gather_of, layouts))})


def _layer_numbers(
    model: ModelSizes, alone: TrainingLayout, is_last: bool, cluster: GpuCluster
) -> list[float]:
    return measured(model, alone, is_last, cluster).numbers


def _gather_numbers(
    model: ModelSizes, tensor: int, shards: int, cluster: GpuCluster
) -> list[float]:
    return [gathering(model, tensor, shards, cluster)]


def _layer_of(layout: TrainingLayout) -> tuple[TrainingLayout, bool]:
    """All that decides what its layers take."""
    alone = replace(
        layout, pipeline=1, shards=1, replicas=1, schedule="1F1B", stages=1, reshards=True
    )
    return alone, layout.pipeline > 1


def _gather_of(layout: TrainingLayout) -> tuple[int, int] | None:
    is_gathered = layout.pipeline == 1 and layout.shards > 1
    return (layout.tensor, layout.shards) if is_gathered else None


def measured(
    model: ModelSizes, alone: TrainingLayout, is_last: bool, cluster: GpuCluster
) -> MicroBatchTimes:
    """Runs of one and of two layers, with two micro-batches each. The difference is what a layer takes."""
    fold: Fold = False if alone.ranks == 1 else lambda rank: 0
    ends: list[tuple[float, float]] = []  # of the micro-batches, by the number of layers
    for layers in (1, 2):
        small = model.changed(layers=layers, batch=alone.micro)
        report = runner.run(
            pass_through, alone.ranks, (small, alone, is_last), net=cluster.network, shapes=True,
            fold=fold, device=replace(cluster.device, memory=ROOM),
        )  # fmt: skip
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
    of_stage = -(-model.layers // layout.all_stages)
    own = times.of(of_stage * layout.stages, layout.micro_batches(model))
    return own + (layout.pipeline - 1) * of_stage * min(times.layer)


def gathering(model: ModelSizes, tensor: int, shards: int, cluster: GpuCluster) -> float:
    """Seconds to gather the parameters of one layer, where nothing else is sent."""
    length = model.layer_parameters // (tensor * shards)
    report = runner.run(
        gather, tensor * shards, (tensor, shards, length), net=cluster.network, shapes=True,
        device=replace(cluster.device, memory=ROOM), fold=lambda rank: 0,
    )  # fmt: skip
    spans = [[at for _, at in rank.marks] for rank in report.ranks]
    return min(end - start for start, end in spans) / PICO


def gather(tensor: int, shards: int, length: int) -> None:
    """Every rank gives so many numbers, and gets those of all shards."""
    mesh = init_device_mesh("cuda", (shards, tensor), mesh_dim_names=("fsdp", "tp"))
    kind: Any = {"dtype": torch.bfloat16, "device": "cuda"}
    own, whole = torch.empty(length, **kind), torch.empty(length * shards, **kind)
    inside.mark("start")
    torch.distributed.all_gather_into_tensor(whole, own, group=mesh["fsdp"].get_group())
    inside.mark("end")


def _fastest(cluster: GpuCluster) -> float:
    return max([1.0, *(speed for _, speed in cluster.speeds)])
