"""The part of a step in which something is sent or updated, and that no order of events can hide.

    pipeline    the first micro-batch comes forwards through all stages, and the last one goes back:

                F₀ ─message─► F₁ ─► … F_P₋₁  …  B_P₋₁ ─► … B₁ ─message─► B₀ ─► optimizer
                │             │                 │             │
                a gather      a gather          the sum of    the sum of      of each layer of the stage
                before each layer               a layer over replicas

    1F1B        P micro-batches are under way, so every P-th one comes back before a further one goes
    no pipeline each micro-batch gathers each layer again, forwards, and scatters its gradients; unless zero = 1

A gather begins when a layer is needed, and sums over replicas are waited for one by one. A layer's gradients are scattered
while the layer before computes. So a scatter counts as far as it takes longer than a layer. The last two count whole: those of
the first layer and of the words. A run measures each collective where nothing else is sent.
"""

from __future__ import annotations

from typing import Any, Final

import minitorch_dist as torch
from minitorch_dist import distributed as dist
from minitorch_dist.distributed import new_groups
from minitorch_dist.distributed.device_mesh import init_device_mesh
from minitorch_dist.sim import program_calls
from mtd.planning import bounds
from mtd.planning.bounds import Known, MicroBatchTimes, measure_anew
from mtd.planning.clusters import GpuCluster
from mtd.planning.formula import HALF, SINGLE
from mtd.planning.layouts import TrainingLayout
from mtd.planning.model_files import ModelSizes
from transports.clock import PICO

ADAM: Final = SINGLE + 2 * 3 * SINGLE  # bytes for each number: its gradient is read, the rest written, too


def unhidden(model: ModelSizes, layout: TrainingLayout, cluster: GpuCluster, known: Known = measure_anew) -> float:
    """Seconds that a step takes longer than `bounds.bounded` says, at least."""
    times = bounds.of_a_layer(model, layout, cluster, known)
    sent = ShardTimes(model, layout, cluster, known)
    layers = -(-(model.layers - model.dense_layers) // layout.all_stages)
    found = 2 * sent.of("all_reduce", sent.table)
    scattered = sent.of("reduce_scatter", sent.table)
    if layout.pipeline == 1:
        scatters = layout.micro_batches(model) if layout.scatters else 1
        found += _of_micro_batches(model, layout, times, sent) + layers * sent.of("all_reduce", sent.layer)
        found += scatters * (scattered + sent.scattered(layers, times))
    else:
        passes = layout.pipeline - 1 + layout.stages  # the last rank has all of its own stages
        gathers = layers * sent.of("all_gather", sent.layer)
        summed = layers * sent.of("all_reduce", sent.layer)
        found += scattered + passes * (gathers + summed + sent.scattered(layers, times))
        found += 2 * sent.of("all_gather", sent.table)
        found += _of_messages(model, layout, times, one_way(model, layout, cluster))
    own = layers * layout.stages * sent.layer + (1 + (layout.pipeline == 1)) * sent.table
    optimizer = cluster.device.time(ADAM * own // layout.shards) / PICO
    return (found + optimizer) / bounds.fastest(cluster)


# ------------------------------------------------------------------------- shards and replicas


class ShardTimes:
    """The collectives of a layout's shards and replicas. `layer` and `table` are the numbers of a unit on each rank of
    tensor parallelism: of a layer, and of the words or the logits."""

    def __init__(self, model: ModelSizes, layout: TrainingLayout, cluster: GpuCluster, known: Known) -> None:
        self.model, self.layout, self.cluster, self.known = model, layout, cluster, known
        far = model.expert_parameters if layout.experts > 1 else 0  # of which other ranks gather less
        self.layer = (model.layer_parameters - far) // layout.tensor
        self.table = model.words * model.width // layout.tensor

    def of(self, kind: str, numbers: int) -> float:
        """Seconds. Shards gather parameters and scatter gradients, and replicas sum shards."""
        layout, dtype = self.layout, self.model.gradients
        stride, ranks = layout.tensor, layout.shards
        if kind == "all_gather":
            dtype = "bfloat16"
        if kind == "all_reduce":
            stride, ranks = stride * ranks, layout.replicas
        if ranks == 1:
            return 0.0
        what = kind, stride, ranks, numbers // layout.shards, dtype
        (seconds,) = self.known(what, lambda: [collective_time(*what, self.cluster)])
        return float(seconds)

    def scattered(self, layers: int, times: MicroBatchTimes) -> float:
        """Gradients of these layers are scattered, while other layers compute backwards."""
        scatter, longest = self.of("reduce_scatter", self.layer), max(times.layer)
        return scatter + (layers - 1) * max(0.0, scatter - longest)


def _of_micro_batches(model: ModelSizes, layout: TrainingLayout, times: MicroBatchTimes, sent: ShardTimes) -> float:
    """Each one gathers all units forwards. Backwards it gathers a layer while the one behind it computes. With zero = 1
    only the first one gathers."""
    gather = sent.of("all_gather", sent.layer)
    layers = model.layers - model.dense_layers
    each = layers * gather + 2 * sent.of("all_gather", sent.table)
    if layout.zero == 1:
        return each
    if layout.zero == 3:
        each += max(0, layers - 1) * max(0.0, gather - max(times.layer))
    return layout.micro_batches(model) * each


def collective_time(kind: str, stride: int, ranks: int, length: int, dtype: str, cluster: GpuCluster) -> float:
    """Seconds of a collective among ranks so far apart, `stride` such groups side by side. Each rank has a shard of so
    many numbers."""
    given = kind, stride, ranks, length, dtype
    report = cluster.simulated(carry_out, stride * ranks, given, lambda rank: 0)
    return min(at for rank in report.ranks for _, at in rank.marks) / PICO


def carry_out(kind: str, stride: int, ranks: int, length: int, dtype: str) -> None:
    """All ranks begin at once; the end of each is marked."""
    with new_groups.without_meeting():
        mesh = init_device_mesh("cuda", (ranks, stride), mesh_dim_names=("group", "beside"))
        group: Any = mesh["group"].get_group()
    shard = torch.empty(length, dtype=getattr(torch, dtype), device="cuda")
    if kind == "all_reduce":
        dist.all_reduce(shard, group=group)
    else:
        whole = shard.new_empty(length * ranks)
        if kind == "all_gather":
            dist.all_gather_into_tensor(whole, shard, group=group)
        else:
            dist.reduce_scatter_tensor(shard, whole, group=group)
    program_calls.mark("end")


# ---------------------------------------------------------------------------------- a pipeline


def one_way(model: ModelSizes, layout: TrainingLayout, cluster: GpuCluster) -> float:
    """Seconds of the messages that bring a micro-batch to the last stage of a round, where nothing is in their way."""
    tokens = layout.micro * model.sequence // (layout.context * layout.tensor)
    apart = layout.ranks // layout.pipeline
    route, nbytes = cluster.network.topology.route, HALF * tokens * model.width
    ways = [
        sum(route(rank, rank + apart).alone(nbytes) for rank in range(first, layout.ranks - apart, apart))
        for first in range(apart)
    ]
    return max(ways) / PICO


def _of_messages(model: ModelSizes, layout: TrainingLayout, times: MicroBatchTimes, messages: float) -> float:
    """The first micro-batch comes, and the last one goes back. With 1F1B the first rank may set the pace instead of the
    last one: then every P-th micro-batch goes there and back, and the last rank waits."""
    pipeline, micro = layout.pipeline, layout.micro_batches(model)
    there_and_back = 2 * messages
    if layout.schedule != "1F1B" or micro < 2 * pipeline:
        return there_and_back
    rounds = micro // pipeline
    stage = -(-model.layers // pipeline) * min(times.layer)
    logits = (micro - (rounds - 1) * (pipeline - 1)) * min(times.ends)
    by_first = (micro + pipeline - 1) * stage + logits + rounds * there_and_back
    return max(there_and_back, by_first - bounds.least(model, layout, times))
