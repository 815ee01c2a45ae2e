"""Try the layouts: drop what cannot be, order the rest by the formula, and simulate the most promising.

A simulated layout is run by `training_step`. One rank of each role stands for the others. A long step is told by two
or four short ones (`short_runs`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, Final

from minitorch_dist.distributed.schedules import choice
from minitorch_dist.sim.report import RankReport, Report
from mtd.planning import formula, short_runs
from mtd.planning.bounds import Known, measure_anew
from mtd.planning.clusters import ROOM, GpuCluster
from mtd.planning.fold.folding import Fold, Folded
from mtd.planning.layouts import TrainingLayout, faults
from mtd.planning.model_files import ModelSizes
from mtd.planning.short_runs import MEMORY
from mtd.planning.training_step import train
from transports.clock import PICO

FAMILY: Final = "minitorch_dist plan "
FORMAT: Final = f"{FAMILY}8"  # "selective" was torchtitan's in 7
LAYOUT_FORMAT: Final = "minitorch_dist layout 1"
CHECKPOINTS_OF: Final = {
    "tiles": ("none", "op", "full"),
    "whole": ("none", "selective", "full"),
}  # in tiles its core keeps little
MICRO: Final = (1, 2, 4, 8)
LINKS: Final = "bytes "  # of all GPUs, by kind of link
Measured = dict[str, float]


@dataclass(frozen=True)
class PlanRow:
    """A layout, and what it takes. Memory is that of the fullest GPU, in bytes, by category."""

    layout: TrainingLayout
    seconds: float
    memory: dict[str, float]
    is_simulated: bool
    shares: dict[str, float] = field(default_factory=dict)  # of the step: computing, sending, waiting
    sent: float = 0.0  # bytes, by the rank that sends most
    links: dict[str, float] = field(default_factory=dict)  # bytes of all GPUs, by kind of link
    fits: bool = True
    idle: float = 0.0  # the share of the step in which GPUs neither compute nor send, on average

    @property
    def peak(self) -> float:
        return sum(self.memory.values())

    def tokens(self, model: ModelSizes) -> float:
        """Tokens a second of each GPU."""
        return model.batch * model.sequence / self.seconds / self.layout.ranks

    def mfu(self, model: ModelSizes, cluster: GpuCluster) -> float:
        return self.tokens(model) * model.flops_per_token / cluster.device.peak_of("bfloat16")

    @property
    def bubble(self) -> float:
        """The share of `idle` that a pipeline has if stages are equal and messages take no time: (P - 1) / (m v + P - 1)."""
        return self.shares.get("bubble", 0.0)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


# --------------------------------------------------------------------------------------- all of them


def layouts(model: ModelSizes, cluster: GpuCluster) -> Iterator[TrainingLayout]:
    """Every layout that divides."""
    for layout in _tried(cluster, model):
        if not any(faults(layout, model, cluster.gpus)):
            yield layout


def _tried(cluster: GpuCluster, model: ModelSizes) -> Iterator[TrainingLayout]:
    gpus = cluster.gpus
    for tensor in _powers(min(cluster.per_node, gpus)):
        for pipeline in _divisors(gpus // tensor if gpus % tensor == 0 else 0):
            for layout in _with_data(tensor, pipeline, gpus // (tensor * pipeline), CHECKPOINTS_OF[model.attention]):
                yield layout
                yield from _with_experts(layout, model)


def _with_experts(layout: TrainingLayout, model: ModelSizes) -> Iterator[TrainingLayout]:
    """The same, where the ranks that share parameters share a layer's experts, too: some of them, or as many as can."""
    most = math.gcd(layout.shards, model.experts) if model.experts else 1
    for ranks in sorted({each for each in (8, most) if most % each == 0 and each > 1}):
        yield replace(layout, experts=ranks)


def nearest_miss(model: ModelSizes, cluster: GpuCluster) -> tuple[TrainingLayout, list[str]]:
    """Where none divides: a layout with the fewest faults, and these."""
    fewest: tuple[TrainingLayout, list[str]] | None = None
    for layout in _tried(cluster, model):
        wrong = [*faults(layout, model, cluster.gpus)]
        if fewest is None or len(wrong) < len(fewest[1]):
            fewest = layout, wrong
        if len(wrong) == 1:
            break
    assert fewest is not None  # one GPU has a layout, too
    return fewest


def _with_data(tensor: int, pipeline: int, data: int, checkpoints: Sequence[str]) -> Iterator[TrainingLayout]:
    schedules = [("1F1B", 1)]
    if pipeline > 1:
        schedules += [("Interleaved1F1B", 2), ("Interleaved1F1B", 4)]
    for checkpoint in checkpoints:
        for micro in MICRO:
            for schedule, stages in schedules:
                for shards in reversed(_divisors(data)):
                    for zero in (1,) if pipeline > 1 or shards == 1 else (3, 2, 1):
                        yield TrainingLayout(
                            tensor, pipeline, shards, data // shards, micro, checkpoint, schedule, stages, zero
                        )


def _powers(most: int) -> list[int]:
    return [1 << n for n in range(most.bit_length()) if 1 << n <= most]


def _divisors(number: int) -> list[int]:
    return [n for n in range(1, number + 1) if number % n == 0]


def estimated(model: ModelSizes, cluster: GpuCluster) -> tuple[list[PlanRow], int]:
    """The layouts that fit by the formula, the fastest first; and how many did not."""
    rows, refused = [], 0
    room = cluster.device.memory or ROOM
    for layout in layouts(model, cluster):
        found = formula.estimate(model, layout, cluster)
        if found.peak > room:
            refused += 1
            continue
        rows.append(PlanRow(layout, found.seconds, found.memory, False))
    return sorted(rows, key=lambda row: row.seconds), refused


# ------------------------------------------------------------------------------------- by running


def as_it_runs(model: ModelSizes, layout: TrainingLayout, cluster: GpuCluster, known: Known = measure_anew) -> PlanRow:
    """One layout: beside messages between stages, collectives are rings, as NCCL's (see the design page)."""
    with nullcontext() if layout.pipeline == 1 else choice.preferring("ring"):
        return simulated(model, layout, cluster, known)


def simulated(model: ModelSizes, layout: TrainingLayout, cluster: GpuCluster, known: Known = measure_anew) -> PlanRow:
    """The same by runs of the training step, in which one rank of each role stands for the others. `known` may have some of the
    runs from before."""
    micro = layout.micro_batches(model)
    fold: Fold | None = None

    def measure(layers: int, micro: int) -> Measured:
        nonlocal fold
        if fold is None and layout.pipeline > 1:
            fold = proved_roles(model, layout, cluster)
        given = fold if fold is not None else layout.ranks > 1 and roles_of(model, layout)
        found, proved = run(model, layout, cluster, layers, micro, given)
        if proved is not None and not proved.refused:
            fold = proved  # the other runs have the same roles
        return found

    short = short_runs.of(model, layout, cluster)
    runs = {size: known(size, partial(measure, *size)) for size in short.sizes}
    found = short.told(runs)
    by_stage: dict[str, dict[str, float]] = {}
    for word, value in found.items():
        if word.startswith(MEMORY):
            stage, _, category = word.removeprefix(MEMORY).partition(" ")
            by_stage.setdefault(stage, {})[category] = value
    stage = max(by_stage, key=lambda each: sum(by_stage[each].values()))
    memory = by_stage[stage]
    if min(memory.values()) < 0:
        memory = _as_in(runs[short.sizes[-1]], stage, memory)
    seconds = found["seconds"]
    shares = {name: found[name] / seconds for name in ("computing", "sending", "waiting")}
    if layout.pipeline > 1:
        waits = layout.pipeline - 1
        shares["bubble"] = waits / (micro * layout.stages + waits)
    peak = sum(memory.values())
    fits = peak <= (cluster.device.memory or ROOM)
    links = {w.removeprefix(LINKS): nbytes for w, nbytes in found.items() if w.startswith(LINKS)}
    idle = found["idle"] / seconds
    return PlanRow(layout, seconds, memory, True, shares, found["sent"], links, fits, idle)


def _as_in(longest: Measured, stage: str, memory: dict[str, float]) -> dict[str, float]:
    """The same bytes, shared among the categories as in the longest run: the peaks of short runs came at different moments."""
    there = {name: longest[f"{MEMORY}{stage} {name}"] for name in memory}
    whole, seen = sum(memory.values()), sum(there.values())
    return {name: nbytes * whole / seen for name, nbytes in there.items()}


def roles_of(model: ModelSizes, layout: TrainingLayout) -> Callable[[int], tuple[int, ...]]:
    """Ranks of a stage do the same if they have as many rows of each parameter."""
    in_stage = layout.ranks // layout.pipeline
    lengths = {model.experts, model.words, model.width, model.ffn, model.query_width, model.kv_heads * model.head}
    if not model.is_gated:
        lengths |= {1, model.sequence}  # positions
    lengths |= {length // layout.tensor for length in lengths}

    own = model.experts // layout.experts
    of_experts = {own * model.width, own * model.expert_ffn // layout.tensor} if own else set()
    few = layout.shards // layout.experts

    def rows(length: int, shard: int, shards: int = layout.shards) -> int:
        """Of `length` rows, those of this shard: all but the last ones are equal."""
        each = -(-length // shards)
        return min(each, max(0, length - shard * each))

    kinds = [
        (
            *(rows(length, shard) for length in sorted(lengths)),
            *(rows(length, shard // layout.experts, few) for length in sorted(of_experts)),
        )
        for shard in range(layout.shards)
    ]
    return lambda rank: (rank // in_stage, *kinds[rank // layout.tensor % layout.shards])


def run(
    model: ModelSizes, layout: TrainingLayout, cluster: GpuCluster, layers: int, micro: int, fold: Fold
) -> tuple[Measured, Folded | None]:
    """A step with so many layers in each stage and so many micro-batches; and how it was folded."""
    report = step(model, layout, cluster, layers, micro, fold)
    last = max(report.ranks, key=lambda each: each.time)
    end, use = last.time, last.device
    assert use is not None
    in_stage = layout.ranks // layout.pipeline
    found = {
        "seconds": end / PICO,
        "computing": use.compute / PICO,
        "sending": use.communication / PICO,
        "waiting": _idle(end, last) / PICO,
        "idle": sum(_idle(end, each) for each in report.ranks) / layout.ranks / PICO,
        "sent": float(max(each.bytes_sent for each in report.ranks)),
        **{f"{LINKS}{kind}": float(nbytes) for kind, nbytes in _links(report).items()},
        **{
            f"{MEMORY}{rank}{apart} {name}": float(nbytes)
            for rank in range(0, layout.ranks, in_stage)
            for moment, apart in (("peak", ""), ("metrics", "/metrics"))
            for name, nbytes in report.results[rank][moment].items()
        },
    }
    return found, report.folded


def step(
    model: ModelSizes,
    layout: TrainingLayout,
    cluster: GpuCluster,
    layers: int,
    micro: int,
    fold: Fold,
    timelines: bool = False,
) -> Report[Any]:
    """The run of a step with so many layers in each stage and so many micro-batches."""
    small = model.changed(layers=layout.layers(layers), batch=layout.data * layout.micro * micro)
    speeds = dict(cluster.speeds)
    return cluster.simulated(train, layout.ranks, (small, layout), fold, speeds=speeds, timelines=timelines)


def whole_step(model: ModelSizes, layout: TrainingLayout, cluster: GpuCluster, notes: bool = True) -> Report[Any]:
    """A step with all layers and micro-batches. `notes`: see `train`."""
    fold, speeds = proved_roles(model, layout, cluster), dict(cluster.speeds)
    return cluster.simulated(partial(train, notes=notes), layout.ranks, (model, layout), fold, speeds=speeds)


def proved_roles(model: ModelSizes, layout: TrainingLayout, cluster: GpuCluster) -> Fold:
    """The roles, proved by a short step: two stages of a rank at most, with a layer each. In other steps each is run by one rank."""
    short = replace(layout, stages=min(layout.stages, 2))
    few = layout.pipeline + (layout.stages == 1)  # interleaved ones come in multiples of P
    few = min(layout.micro_batches(model), few)
    each = 1 if short.layers(1) >= model.dense_layers else 2 + model.dense_layers // short.all_stages
    proof = step(model, short, cluster, each, few, roles_of(model, layout))
    return proof.folded if proof.folded is not None and not proof.folded.refused else roles_of(model, layout)


def _idle(end: int, rank: RankReport) -> int:
    """Picoseconds of a step until `end` in which it neither computes nor sends nor receives."""
    use = rank.device
    assert use is not None
    return end - use.compute - use.communication


def _links(report: Report[Any]) -> dict[str, int]:
    """Bytes of all messages, by the kind of link between the nodes of sender and receiver."""
    between = report.between_nodes
    if between is None:
        return {"all links": report.bytes_sent}
    return {"within nodes": report.bytes_sent - between, "between nodes": between}
