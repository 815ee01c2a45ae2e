"""A step of training by a layout: this library's own pipelines, FSDP and tensor parallelism, on every rank.

    report = sim.run(train, layout.ranks, (model, layout), shapes=True, device=sim.gpu("H100-SXM"), net=…)

Parameters are kept in float32, and computed with in bfloat16. AdamW's memory is there from the start, as in every step
but the first. Building the model sends no bytes and computes nothing, so the run is one step and hardly anything else.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import minitorch_dist as torch
from minitorch_dist.distributed import new_groups
from minitorch_dist.distributed.device_mesh import DeviceMesh, init_device_mesh
from minitorch_dist.distributed.fsdp import CPUOffloadPolicy, MixedPrecisionPolicy, fully_shard
from minitorch_dist.distributed.pipelining import PipelineStage, get_schedule_class
from minitorch_dist.distributed.pipelining.stage import SavedForward, as_tuple
from minitorch_dist.distributed.world import current
from minitorch_dist.sim import program_calls
from minitorch_dist.tensors import ledger, pools
from minitorch_dist.tensors.tensor import Tensor
from mtd.planning import cutting, offloading
from mtd.planning.caching_allocator import CachingAllocator
from mtd.planning.context_attention import own_part
from mtd.planning.experts import ExpertLayer, ExpertPlaces
from mtd.planning.fold import repeats
from mtd.planning.layouts import TrainingLayout, layers_of
from mtd.planning.model_files import COLOURS, ModelSizes
from mtd.planning.parallel_loss import cross_entropy, show
from mtd.planning.transformer import TransformerPart

MESHES, METRICS = "the meshes of a plan", "the peak of memory while metrics are computed"  # among the extras of a world


def train(
    model: ModelSizes, layout: TrainingLayout, steps: int = 1, dtype: str = "bfloat16", notes: bool = True
) -> dict[str, Any]:
    """Take `steps` steps. Returns the losses (of the last stage), and this rank's memory by category at its peak. With `notes`,
    micro-batches that repeat others may be noted instead of run (`fold.repeats`). The bytes that an allocator reserves are
    known only where all of them were run; else they are None."""
    mesh = _mesh(layout)
    stages = _stages(mesh["pp"].get_local_rank(), layout)
    parts = [built(model, layout, mesh, stage, dtype) for stage in stages]
    optimizer = offloading.adamw([p for part in parts for p in part.parameters()], layout.offload)
    with ledger.category("optimizer"):
        for group in optimizer.param_groups:
            for p in group["params"]:
                optimizer.state[p] = optimizer.start(p, group)
    if pools.pool():
        ledger.of("cuda").reset_peak()  # the model was whole while it was built
    take = _pipelined if layout.pipeline > 1 else _accumulated
    repeated = repeats.of(layout.micro_batches(model)) if notes else None
    reserves = CachingAllocator.of(ledger.of("cuda")) if pools.pool() and repeated is None else None
    losses = []
    for _ in range(steps):
        losses += take(model, layout, mesh, parts, stages, repeated or run_each)
        optimizer.step()
        optimizer.zero_grad()
    peak = ledger.of("cuda").snapshot().peak_by_category if pools.pool() else {}
    reserved = reserves.reserved if reserves else None
    return {"losses": losses, "peak": peak, "metrics": current().extras.get(METRICS, {}), "reserved": reserved}


def pass_through(model: ModelSizes, layout: TrainingLayout, is_last: bool, dtype: str = "bfloat16") -> None:
    """Two micro-batches of all layers, or of the last stage of a pipeline with as many (`is_last`). Nothing is reduced
    after them, and the end of each is marked."""
    mesh = _mesh(layout)
    if model.experts:
        _expert_mesh(layout)  # of these ranks, which are one stage only
    if is_last:
        whole, two = model.changed(layers=2 * model.layers), replace(layout, pipeline=2)
        part = built(whole, two, mesh, 1, dtype)
    else:
        part = built(model, layout, mesh, 0, dtype)
    part.set_requires_gradient_sync(False)
    given, words = _given(model, layout)
    size = layout.micro, model.sequence // (layout.tensor * layout.context), model.width
    for number in range(2):
        if is_last:
            given = torch.empty(*size, dtype=getattr(torch, dtype), device="cuda", requires_grad=True)
        _learn(part, given, words, mesh["tp"].get_group(), model, 2)
        program_calls.mark(f"micro-batch {number}")


def _made(sizes: tuple[int, ...], axes: tuple[str, ...]) -> DeviceMesh:
    """A mesh of all ranks, which is made once. Its groups of replicas and shards are made, too, if it needs any."""
    known = current().extras.setdefault(MESHES, {})
    if axes not in known:
        with new_groups.without_meeting():
            mesh = known[axes] = init_device_mesh("cuda", sizes, mesh_dim_names=axes)
            if "dp" in axes:
                mesh["dp", "fsdp"]
    found: DeviceMesh = known[axes]
    return found


def _mesh(layout: TrainingLayout) -> DeviceMesh:
    return _made((layout.pipeline, layout.replicas, layout.shards, layout.tensor), ("pp", "dp", "fsdp", "tp"))


def _context(layout: TrainingLayout) -> Any:
    """The group of the ranks that have parts of the same sequences."""
    rest = layout.ranks // (layout.context * layout.tensor)
    return _made((rest, layout.context, layout.tensor), ("rest", "cp", "tp"))["cp"].get_group()


def _expert_mesh(layout: TrainingLayout) -> Any:
    """The mesh in which experts are shared: of the ranks with the same ones, shards of each."""
    few = layout.shards // layout.experts
    sizes = layout.pipeline, layout.replicas, few, layout.experts, layout.tensor
    return _made(sizes, ("pp", "dp", "fsdp", "ep", "tp"))


def expert_units(layers: Any) -> list[Any]:
    """Those of these layers that have experts: they are shared by other ranks."""
    found = [getattr(layer, "mlp", None) for layer in layers]
    return [mlp.experts for mlp in found if isinstance(mlp, ExpertLayer)]


def _stages(rank: int, layout: TrainingLayout) -> list[int]:
    """The stages of this rank of the pipeline: every P-th."""
    return list(range(rank, layout.all_stages, layout.pipeline))


def built(model: ModelSizes, layout: TrainingLayout, mesh: DeviceMesh, stage: int, dtype: str) -> TransformerPart:
    """One stage, cut and sharded."""
    context = _context(layout) if layout.context > 1 else None
    where = _expert_mesh(layout) if model.experts else None
    places = ExpertPlaces(
        where["ep"].get_group() if where and layout.experts > 1 else None,
        mesh["tp"].get_group() if layout.tensor > 1 else None,
    )
    part = TransformerPart(
        model,
        layers_of(model, layout, stage),
        layout.checkpoint,
        context,
        (stage == 0, stage == layout.all_stages - 1),
        is_tied(model, layout),
        places,
    )
    if layout.tensor > 1:
        own = model.changed(sequence=model.sequence // layout.context)
        cutting.cut(part, mesh["tp"], own, layout.sequence)
    policy = MixedPrecisionPolicy(param_dtype=getattr(torch, dtype), reduce_dtype=getattr(torch, model.gradients))
    there = CPUOffloadPolicy() if layout.offload == "parameters" else None
    shard = partial(fully_shard, mp_policy=policy, offload_policy=there, src_data_rank=None)
    for layer in part.layers:
        if isinstance(layer.mlp, ExpertLayer):
            assert where is not None
            shard(layer.mlp.experts, mesh=where["dp", "fsdp"], reshard_after_forward=layout.zero == 3)
    units: list[Any] = [None if is_tied(model, layout) else part.begin, *part.layers, part.logits]
    for unit in [each for each in units if each is not None] + [part]:
        keeps = layout.zero < 3 or unit is part.logits or unit is part
        shard(unit, mesh=mesh["dp", "fsdp"], reshard_after_forward=not keeps)
    if layout.replicas & (layout.replicas - 1):
        part._sum_replicas_by("ring")  # which ends on all at once, whatever their number
    if layout.ahead:
        for unit, following in itertools.pairwise(each for each in units if each is not None):
            unit.set_modules_to_forward_prefetch([following, *expert_units([following])])
    return part


def is_tied(model: ModelSizes, layout: TrainingLayout) -> bool:
    """Whether one matrix is at both ends. A pipeline has a copy at each, and tensor parallelism cuts them along different sides."""
    return model.tied and layout.pipeline == layout.tensor == 1


def _given(model: ModelSizes, layout: TrainingLayout) -> tuple[Any, Any]:
    """Words, and the words to learn; or images, and their classes. They are the same for all, since only sizes matter here. With
    `context` each rank has its part."""
    torch.manual_seed(0)
    if model.sees_all:
        images = torch.rand(layout.micro, COLOURS, model.image, model.image, device="cuda")
        return images, torch.randint(model.words, (layout.micro, 1), device="cuda")
    words = torch.randint(model.words, (layout.micro, model.sequence), device="cuda")
    if layout.context > 1:
        group = _context(layout)
        words = own_part(words, group.rank(), group.size(), 1)
    return words, words


def _accumulated(
    model: ModelSizes, layout: TrainingLayout, mesh: DeviceMesh, parts: Any, stages: Any, run: Any
) -> list[Any]:
    """One micro-batch after another. Each scatters its gradients, or the last one; replicas sum after the last."""
    (part,), count = parts, layout.micro_batches(model)
    group = mesh["tp"].get_group()

    def taken(number: int) -> Any:
        is_last = number == count - 1
        part.set_requires_gradient_sync(is_last or layout.scatters)
        part.set_requires_all_reduce(is_last)
        part.set_reshard_after_backward(is_last or layout.zero > 1)
        given, wanted = _given(model, layout)
        return _learn(part, given, wanted, group, model, count)

    return [run("a pass", number, partial(taken, number)) for number in range(count)]


def _learn(part: Any, given: Any, wanted: Any, group: Any, model: ModelSizes, count: int) -> Any:
    """One of `count` micro-batches, forwards and backwards."""
    logits = part(given)
    loss = cross_entropy(logits, wanted, group, model) / count
    if not model.metrics:
        del logits  # or they would stay until all gradients are there
    loss.backward()
    if model.metrics:
        _show(logits, wanted, model.metrics)
    return loss.detach()


def _show(logits: Tensor, wanted: Tensor, times: int) -> None:
    """The metrics. Their peak of memory is kept apart: a line through short runs tells a peak that always comes at the same moment."""
    if not pools.pool():
        return show(logits, wanted, times)
    passes = ledger.of("cuda").overall
    with ledger.watch("cuda") as seen:
        before = passes.peak, passes.by_category
        show(logits, wanted, times)
    passes.peak, passes.by_category = before
    current().extras[METRICS] = seen.by_category


def _begin_to_gather(parts: Any) -> None:
    """Of all stages of this rank, before the first micro-batch comes."""
    for part in parts:
        for unit in (part, part.begin, *part.layers, *expert_units(part.layers), part.logits):
            if unit is not None:
                unit.unshard(async_op=True)


def run_each(name: str, number: int, run: Callable[[], Any], drop: Any = None) -> Any:
    return run()


class RepeatedStage(PipelineStage):
    """A stage whose micro-batches may be noted instead of run, where one rank stands for others (see `fold.repeats`)."""

    def __init__(self, run: Any, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self.run = run

    def forward_one_chunk(self, chunk: int, args: Any, *given: Any) -> Any:
        usual = partial(super().forward_one_chunk, chunk, args, *given)
        output = self.run(f"forward of stage {self.stage_index}", chunk, usual)
        if self.has_backward and chunk not in self._held:
            self._held[chunk] = SavedForward(args, as_tuple(output))
        return output

    def backward_one_chunk(self, chunk: int, *given: Any, **more: Any) -> Any:
        usual = partial(super().backward_one_chunk, chunk, *given, **more)
        drop = partial(self._held.pop, chunk)
        return self.run(f"backward of stage {self.stage_index}", chunk, usual, drop)


def _pipelined(
    model: ModelSizes, layout: TrainingLayout, mesh: DeviceMesh, parts: Any, stages: list[int], run: Any
) -> list[Any]:
    count, group = layout.micro_batches(model), mesh["tp"].get_group()
    pipe = [
        RepeatedStage(run, part, stage, layout.all_stages, "cuda", group=mesh["pp"].get_group())
        for part, stage in zip(parts, stages, strict=True)
    ]

    numbers = itertools.count()

    def loss(logits: Any, words: Any) -> Any:
        usual = partial(cross_entropy, logits, words, group, model)
        return run("the loss", next(numbers), lambda: usual() / count)

    one_stage = layout.stages == 1
    schedule: Any = get_schedule_class(layout.schedule)
    schedule = schedule(pipe[0] if one_stage else pipe, count, loss_fn=loss, scale_grads=False)
    one, wanted = _given(model, layout)
    losses: list[Any] = []
    given = (one.repeat(count, *[1] * (one.ndim - 1)),) if 0 in stages else ()
    target = wanted.repeat(count, 1) if layout.all_stages - 1 in stages else None
    if layout.ahead:
        _begin_to_gather(parts)
    for part in parts:
        part.set_is_last_backward(not layout.ahead)
    schedule.step(*given, target=target, losses=losses, return_outputs=False)
    for part in parts:
        part.set_is_last_backward(True)
    return [each.detach() for each in losses]
