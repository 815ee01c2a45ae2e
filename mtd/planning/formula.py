"""The time and memory of a layout, by a plain formula: good enough to see which layouts are worth simulating.

    time     products at the peak + other operations at the memory's rate + collectives of activations at their
             links' rate, times 1 + the bubble (P - 1) / (m · v); messages between stages, where nothing hides them; and
             what FSDP and replicas send, as far as it takes longer than the computing that hides it. In a pipeline
             nothing hides it, and it counts once for each stage
    memory   parameters + gradients + optimizer + activations, as the ledger would count them

It knows no latencies, no launches, no contention and no order of events. The simulation does.
"""

from __future__ import annotations

from dataclasses import dataclass

from mtd.planning.clusters import GpuCluster
from mtd.planning.layouts import TrainingLayout
from mtd.planning.model_files import NUMBERS, ModelSizes

HALF, SINGLE = 2, 4  # bytes of a number: computed with, kept
# Over an activation, reading or writing, in a layer.
PASSES = {"none": 30, "selective": 30, "op": 36, "full": 42}
WEIGHT_PASSES = 20  # over the weights of attention, where they are written to memory
AGAIN = {"none": 0.0, "selective": 0.05, "op": 0.35, "full": 1.0}  # the share of forward that is computed again


@dataclass(frozen=True)
class FormulaEstimate:
    """Seconds of a step, and bytes of the fullest GPU by category."""

    seconds: float
    memory: dict[str, float]

    @property
    def peak(self) -> float:
        return sum(self.memory.values())


def estimate(model: ModelSizes, layout: TrainingLayout, cluster: GpuCluster) -> FormulaEstimate:
    return FormulaEstimate(_seconds(model, layout, cluster), memory(model, layout))


def memory(model: ModelSizes, layout: TrainingLayout) -> dict[str, float]:
    """Bytes of the rank that holds most: the first stage, which has most micro-batches in flight."""
    layers = -(-model.layers // layout.all_stages) * layout.stages
    layer, far = model.layer_parameters / layout.tensor, 0.0
    if layout.experts > 1:  # those that lie on other ranks
        far = (1 - 1 / layout.experts) * model.expert_parameters / layout.tensor
    table = model.words * model.width / layout.tensor
    own = layers * layer + table * (2 if layout.pipeline == 1 else 1)
    tokens = layout.micro * model.sequence / layout.context
    whole = 2 * (layer - far) + table if layout.zero == 3 else own - layers * far
    adds_up = layout.micro_batches(model) > 1 and not layout.scatters
    summed = NUMBERS[model.gradients] * (own - layers * far) if adds_up else 0.0
    of_a_pass = 0.0 if summed and model.gradients == "bfloat16" else HALF * (2 * (layer - far) + table)
    gradient = of_a_pass + summed + SINGLE * own / layout.shards
    in_flight = min(layout.micro_batches(model), layout.pipeline * (2 if layout.stages > 1 else 1))
    kept = tokens * HALF * _kept(model, layout) * layers * (in_flight if layout.pipeline > 1 else 1)
    each = 2 * HALF if model.loss == "fused" else HALF + 3 * SINGLE
    logits = (layout.micro if model.sees_all else tokens) * model.words / layout.tensor * each
    is_first_fuller = layout.pipeline > 1
    return {
        "parameter": SINGLE * own / layout.shards + HALF * whole,
        "gradient": gradient,
        "optimizer": 2 * SINGLE * own / layout.shards,
        "activation": kept + (0 if is_first_fuller else logits),
    }


def _kept(model: ModelSizes, layout: TrainingLayout) -> float:
    """Numbers kept for each token in a layer."""
    between = model.width / (layout.tensor if layout.sequence else 1)
    heads, shared = model.query_width / layout.tensor, model.kv_heads * model.head / layout.tensor
    inside = model.ffn / layout.tensor
    if layout.checkpoint == "full":
        return between
    if layout.checkpoint == "op":
        return 2 * between + 2 * heads + shared + inside
    wide = (5 if model.is_gated else 3) * inside
    weights = 0.0 if layout.checkpoint == "selective" else 3 * _weights(model, layout)
    return weights + 4 * between + 4 * heads + 6 * shared + wide


def _weights(model: ModelSizes, layout: TrainingLayout) -> float:
    """Weights of attention for each token, where they are written to memory."""
    return model.sequence * model.heads / layout.tensor if model.attention == "whole" else 0.0


def _seconds(model: ModelSizes, layout: TrainingLayout, cluster: GpuCluster) -> float:
    device = cluster.device
    peak = device.peak_of("bfloat16") * device.top
    memory_rate = float(device.bandwidth) * device.stream
    tokens, micro = layout.micro * model.sequence / layout.context, layout.micro_batches(model)
    layers = -(-model.layers // layout.all_stages) * layout.stages
    again = AGAIN[layout.checkpoint]
    between = model.width * (1.0 if layout.sequence else layout.tensor) / layout.tensor
    moved = PASSES[layout.checkpoint] * HALF * tokens * (between + model.ffn / layout.tensor / 2)
    moved += WEIGHT_PASSES * HALF * tokens * _weights(model, layout)
    computing = forward(model, layout, cluster) * (3 + again)
    layer = computing + moved / memory_rate + _tensor(model, layout, cluster) * (1 + again / 2)
    layer += _exchanged(model, layout, cluster) * (1 + again / 2)
    logits = 0 if model.sees_all else 6 * model.words * model.width * tokens / layout.tensor / peak
    each = layers * layer + (logits if layout.pipeline == 1 else max(0.0, logits - layer))
    computing = each * micro * (1 + (layout.pipeline - 1) / (micro * layout.stages))
    if layout.pipeline > 1:
        computing = _with_messages(model, layout, cluster, computing)
    own = layers * model.layer_parameters / layout.tensor
    optimizer = 28 * own / layout.shards / memory_rate
    sending = _data(model, layout, cluster, own)
    if layout.pipeline > 1:  # a stage waits for the gathers of the one before, and for its sums
        return computing + layout.pipeline * sending + optimizer
    return computing + max(0.0, sending - computing) + optimizer


def forward(model: ModelSizes, layout: TrainingLayout, cluster: GpuCluster) -> float:
    """The products of a layer and a micro-batch, forwards, at the peak."""
    peak = cluster.device.peak_of("bfloat16") * cluster.device.top
    tokens = layout.micro * model.sequence / layout.context
    attention = (2 + 2 * model.sees_all) * model.sequence * model.query_width  # a mask hides half of all pairs
    return (2 * model.layer_matrices + attention) * tokens / layout.tensor / peak


def message(model: ModelSizes, layout: TrainingLayout, cluster: GpuCluster) -> float:
    """An activation to the next stage, which is in another node if there are several."""
    tokens = layout.micro * model.sequence / (layout.context * layout.tensor)
    return cluster.message(layout.ranks <= cluster.per_node, HALF * int(tokens) * model.width)


def _with_messages(model: ModelSizes, layout: TrainingLayout, cluster: GpuCluster, computing: float) -> float:
    """The first micro-batch waits for its messages over all stages, and the last one back. With 1F1B, P micro-batches are
    under way in between: they go over all stages and back together. Other schedules have more of them, and hide messages.
    But a rank's port sends one message at a time: forwards and backwards, for each of its stages."""
    one, micro = message(model, layout, cluster), layout.micro_batches(model)
    rounds = max(1.0, micro / layout.pipeline) if layout.schedule == "1F1B" else 1.0
    sent = 2 * layout.stages - (layout.pipeline == 2)  # the ends of a pipeline send one less
    return max(computing + rounds * 2 * (layout.pipeline - 1) * one, micro * sent * one)


def _tensor(model: ModelSizes, layout: TrainingLayout, cluster: GpuCluster) -> float:
    """Eight collectives of an activation in each layer."""
    if layout.tensor == 1:
        return 0.0
    nbytes = HALF * layout.micro * model.sequence / layout.context * model.width
    rate = cluster.rate(layout.tensor <= cluster.per_node)
    return 8 * nbytes * (layout.tensor - 1) / layout.tensor / rate


def _exchanged(model: ModelSizes, layout: TrainingLayout, cluster: GpuCluster) -> float:
    """Words go to their experts and come back, forwards and backwards."""
    if layout.experts == 1:
        return 0.0
    tokens = layout.micro * model.sequence / layout.context * model.capacity * model.top_k
    rate = cluster.rate(layout.experts * layout.tensor <= cluster.per_node)
    return 4 * HALF * tokens * model.width * (layout.experts - 1) / layout.experts / rate


def _data(model: ModelSizes, layout: TrainingLayout, cluster: GpuCluster, own: float) -> float:
    """FSDP gathers parameters and scatters gradients; replicas sum their shards."""
    found, summed = 0.0, NUMBERS[model.gradients]
    if layout.shards > 1:
        micro = layout.micro_batches(model)
        gathers = {1: 1, 2: micro, 3: 2 * micro}[1 if layout.pipeline > 1 else layout.zero]
        each = HALF * gathers + summed * (micro if layout.scatters else 1)
        ep = layout.experts
        far = own * model.expert_parameters / model.layer_parameters if ep > 1 else 0.0
        found += (own - far) * each * _gathering(cluster, layout.tensor, layout.shards)
        found += far / ep * each * _gathering(cluster, layout.tensor * ep, layout.shards // ep)
    if layout.replicas > 1:
        once = _gathering(cluster, layout.tensor * layout.shards, layout.replicas)
        found += 2 * summed * own / layout.shards * once
    return found


def _gathering(cluster: GpuCluster, stride: int, ranks: int) -> float:
    """Seconds to gather a byte among ranks so far apart: first between nodes, then within them."""
    inside = max(1, min(ranks, cluster.per_node // stride))
    nodes = ranks // inside
    within = (inside - 1) / inside / cluster.rate(True)
    return within + (nodes - 1) / (nodes * inside) / cluster.rate(False)
