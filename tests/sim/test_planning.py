"""Models, layouts, and the training step that plans are made of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minitorch_dist as torch
from minitorch_dist import distributed as dist, sim
from minitorch_dist.launching import launch
from minitorch_dist.nn import functional as F
from minitorch_dist.tensors import ledger
from mtd.planning import layout_words, layouts, model_files, search
from mtd.planning.clusters import cluster
from mtd.planning.layouts import TrainingLayout
from mtd.planning.model_files import ModelSizes
from mtd.planning.parallel_loss import cross_entropy
from mtd.planning.tiled_attention import AttentionTiles, tiled_attention, whole_attention
from mtd.planning.training_step import train
from mtd.planning.transformer import TransformerPart
from tests.deep import some_of

GPT = ModelSizes("tiny", "gpt", 4, 8, 4, 12, 8, 8)
LLAMA = ModelSizes("tiny", "llama", 4, 8, 4, 12, 8, 8, kv_heads=2, ffn=12)
VIT = ModelSizes("tiny", "vit", 4, 8, 4, 12, 4, 8, image=8, patch=4, pooling="mean")
IMAGES = ModelSizes("tiny", "vit", 4, 8, 4, 12, 5, 8, image=8, patch=4)  # with a position for the class
NET = sim.two_level(2, 4, sim.link("2us", "450GB/s"), sim.link("5us", "50GB/s"))


# ------------------------------------------------------------------------------------ model files


@pytest.mark.parametrize("name", model_files.known())
def test_shipped_models_can_be_read(name: str) -> None:
    model = model_files.read(name)
    assert model.name == name and model.source and model.parameters > 0


def test_llamas_have_as_many_parameters_as_they_say() -> None:
    for name, billions in (("llama3-8b", 8.03), ("llama3-70b", 70.6), ("llama3-405b", 405.9)):
        assert model_files.read(name).parameters / 1e9 == pytest.approx(billions, abs=0.05)


@pytest.mark.parametrize("model", [GPT, LLAMA, VIT, IMAGES], ids=lambda model: f"{model.kind}-{model.sequence}")
def test_parameters_are_those_of_the_built_model(model: ModelSizes) -> None:
    built = TransformerPart(model, range(model.layers), "none")
    assert sum(p.numel() for p in built.parameters()) == model.parameters


IMAGE_LINES = 'kind = "vit"\nlayers = 2\nwidth = 8\nheads = 2\nimage = 224\npatch = 16\nclasses = 10\nbatch = 4\n'


def test_a_vision_transformer_by_path(tmp_path: Path) -> None:
    """ViT-L/16 of Dosovitskiy et al. (arXiv:2010.11929): timm counts 304,326,632 parameters and 61.6 billion products of numbers."""
    own = tmp_path / "mine.toml"
    large = IMAGE_LINES.replace("layers = 2", "layers = 24").replace("width = 8", "width = 1024")
    own.write_text(large.replace("heads = 2", "heads = 16").replace("classes = 10", "classes = 1000"))
    model = model_files.read(str(own))
    assert (model.sequence, model.parameters) == (197, 304_326_632)
    assert model.flops_per_token * model.sequence / 6e9 == pytest.approx(61.6, rel=0.001)
    assert model_files.read(str(own)).changed(pooling="mean", sequence=196).parameters == 304_326_632 - 1024 - 1024


@pytest.mark.parametrize(
    "layout",
    some_of(
        [
            TrainingLayout(shards=3, micro=2),
            TrainingLayout(pipeline=2, micro=2, checkpoint="selective"),
            TrainingLayout(shards=2, micro=2, checkpoint="full"),
            TrainingLayout(tensor=2, micro=2),
            TrainingLayout(pipeline=2, tensor=2, shards=2, micro=2),
        ],
        0,
        1,
        4,
    ),
    ids=str,
)
def test_layouts_of_a_vision_transformer_learn_the_same(layout: TrainingLayout) -> None:
    model = (IMAGES if layout.tensor == 1 else VIT).changed(batch=4 * layout.data)
    numbers, shapes = (step(model, layout, each) for each in (False, True))
    assert numbers.time == shapes.time
    one = step(model.changed(batch=4), TrainingLayout(micro=2), False)
    found = [float(sum(each["losses"])) for each in (*numbers.results, *one.results) if each["losses"]]  # type: ignore[call-overload]
    assert found == pytest.approx([found[0]] * len(found), rel=1e-5)


def test_a_model_by_path(tmp_path: Path) -> None:
    own = tmp_path / "mine.toml"
    lines = 'kind = "gpt"\nlayers = 2\nwidth = 8\nheads = 2\nwords = 16\nsequence = 4\nbatch = 4\n'
    own.write_text(lines)
    assert model_files.read(str(own)) == ModelSizes("mine", "gpt", 2, 8, 2, 16, 4, 4)
    for said, expected in (
        (lines.replace("layers", "layer"), "no 'layer' .perhaps layers"),
        (lines.replace("width = 8\n", ""), "width missing"),
        (lines.replace("width = 8", "width = 9"), "heads = 2 does not divide width = 9"),
        (lines.replace("8", '"8"'), "width is a whole number"),
        (lines.replace("gpt", "mamba"), "kind should be llama or gpt or vit"),
        (lines.replace("gpt", "vit"), "no 'words'"),
        (IMAGE_LINES.replace("classes = 10\n", ""), "classes missing"),
        (IMAGE_LINES.replace("16", "15"), "patch = 15 does not divide image = 224"),
        (IMAGE_LINES.replace("16", '"16"'), "patch is a whole number"),
        (IMAGE_LINES + 'pooling = "max"', "pooling should be class or mean"),
        (IMAGE_LINES + "tied = true", "need words"),
        (lines + 'attention = "some"', "attention should be tiles or whole"),
        (lines + "dropout = 0.1", "dropout needs attention"),
        (lines + 'attention = "whole"\ndropout = "much"', "dropout is at least 0 and below 1"),
        (lines + 'attention = "whole"\nkv_heads = 1', "as many kv_heads as heads"),
        (lines + 'gradients = "float16"', "gradients should be float32 or bfloat16"),
        ("layers = ", "no file of a model"),
    ):
        own.write_text(said)
        with pytest.raises(ValueError, match=expected):
            model_files.read(str(own))
    with pytest.raises(ValueError, match="perhaps llama3-70b"):
        model_files.read("llama3_70b")


# ----------------------------------------------------------------------------------------- layouts


@pytest.mark.parametrize(
    ("layout", "said"),
    [
        (TrainingLayout(tensor=3), "tp = 3 does not divide heads = 4"),
        (TrainingLayout(shards=2, micro=3), "a batch of 8 is no multiple"),
        (TrainingLayout(shards=2, replicas=3), "a batch of 8 is no multiple of 6 ranks with data"),
        (TrainingLayout(pipeline=8), "4 layers are fewer than 8 stages"),
        (TrainingLayout(pipeline=7, light_ends=True), "4 layers are fewer than 7 stages"),
        (TrainingLayout(light_ends=True), "light ends need a pipeline"),
        (TrainingLayout(pipeline=2, schedule="Interleaved1F1B"), "two or more stages"),
        (TrainingLayout(pipeline=2, stages=2), "one stage on a rank"),
        (TrainingLayout(), "takes 1 GPUs, and there are 8"),
    ],
)
def test_layouts_that_cannot_be(layout: TrainingLayout, said: str) -> None:
    gpus = 8 if layout == TrainingLayout() else layout.ranks
    assert any(said in fault for fault in layouts.faults(layout, GPT, gpus))


def test_stages_have_all_layers_once() -> None:
    for stages in (1, 2, 3):
        found = [layouts.layers_of(GPT, TrainingLayout(pipeline=stages), s) for s in range(stages)]
        assert [n for layers in found for n in layers] == list(range(4))
    for stages, sizes in ((2, [2, 2]), (3, [1, 2, 1]), (6, [0, 1, 1, 1, 1, 0])):
        light = TrainingLayout(pipeline=stages, light_ends=True)
        found = [layouts.layers_of(GPT, light, stage) for stage in range(stages)]
        assert [n for layers in found for n in layers] == list(range(4))
        assert [len(layers) for layers in found] == sizes


# ---------------------------------------------------------------------------------- the program

LAYOUTS = [
    TrainingLayout(micro=2),
    TrainingLayout(micro=2, checkpoint="full"),
    TrainingLayout(micro=2, checkpoint="selective"),
    TrainingLayout(micro=2, checkpoint="op"),
    TrainingLayout(shards=2, micro=2, zero=2),
    TrainingLayout(replicas=2, shards=2, micro=2),
    TrainingLayout(pipeline=2, replicas=2, shards=2, micro=2, zero=2),
    TrainingLayout(shards=2, micro=2, offload="parameters"),
    TrainingLayout(shards=2, micro=2, offload="optimizer"),
    TrainingLayout(shards=2, context=2, micro=2),
    TrainingLayout(shards=2, micro=2, ahead=True),
    TrainingLayout(pipeline=2, tensor=2, shards=2, context=2, micro=2),
    TrainingLayout(tensor=2, micro=2),
    TrainingLayout(tensor=2, shards=2, micro=2, sequence=False),
    TrainingLayout(pipeline=2, micro=2, checkpoint="selective"),
    TrainingLayout(pipeline=2, stages=2, schedule="Interleaved1F1B", shards=2, micro=2),
    TrainingLayout(pipeline=2, tensor=2, micro=2),
    TrainingLayout(pipeline=2, tensor=2, shards=2, micro=2, sequence=False),
    TrainingLayout(
        pipeline=2, stages=3, schedule="Interleaved1F1B", shards=2, context=2, micro=2, zero=2, light_ends=True
    ),
    TrainingLayout(pipeline=2, stages=2, schedule="Interleaved1F1B", shards=2, micro=2, zero=2, ahead=True),
]


def step(model: ModelSizes, layout: TrainingLayout, shapes: bool) -> sim.Report[dict[str, object]]:
    return sim.run(train, layout.ranks, (model, layout, 2, "float32"), shapes=shapes, device=sim.gpu("h100"), net=NET)


@pytest.mark.parametrize("layout", some_of(LAYOUTS, 0, 2, 3, 6, 7, 8, 10, 12, 14), ids=str)
def test_shapes_take_what_numbers_take_and_layouts_learn_the_same(layout: TrainingLayout) -> None:
    model = LLAMA if layout.sequence else GPT
    numbers, shapes = (step(model, layout, each) for each in (False, True))
    assert numbers.time == shapes.time
    for one, other in zip(numbers.ranks, shapes.ranks, strict=True):
        assert (one.device, one.bytes_sent, one.peak_bytes) == (other.device, other.bytes_sent, other.peak_bytes)
    assert [each["peak"] for each in numbers.results] == [each["peak"] for each in shapes.results]
    learnt = [float(sum(each["losses"])) for each in numbers.results if each["losses"]]
    if layout.context > 1:  # each has a part of the sequences
        assert len(set(learnt)) > 1
        learnt = [sum(learnt) / len(learnt)]
    assert learnt == pytest.approx([alone(model)] * len(learnt), rel=1e-4)


@pytest.mark.slow
def test_a_step_of_roles_proved_with_fewer_stages_is_the_step_of_all_ranks() -> None:
    """Of 4 layers, the first and the last of 6 stages have none."""
    layout = TrainingLayout(pipeline=2, stages=3, schedule="Interleaved1F1B", shards=2, zero=2, light_ends=True)
    here = cluster("h100", 4, "nvlink2+400G")
    folded = search.whole_step(LLAMA, layout, here)
    full = search.step(LLAMA, layout, here, 1, 4, False)
    assert folded.folded is not None and folded.folded.classes == 2
    assert folded.time == full.time
    for one, other in zip(folded.ranks, full.ranks, strict=True):
        assert (one.device, one.bytes_sent, one.peak_bytes) == (other.device, other.bytes_sent, other.peak_bytes)


@pytest.mark.slow
@pytest.mark.parametrize(
    "layout",
    [TrainingLayout(shards=2), TrainingLayout(pipeline=2, shards=2, zero=2), TrainingLayout(pipeline=2)],
    ids=str,
)
def test_what_an_allocator_reserves_is_known_where_all_micro_batches_are_run(layout: TrainingLayout) -> None:
    model = LLAMA.changed(batch=16 * layout.shards)
    here = cluster("h100", layout.ranks, f"nvlink{layout.ranks}+400G")
    noted, ran = (search.whole_step(model, layout, here, notes) for notes in (True, False))
    full = search.step(model, layout, here, 4 // layout.pipeline, layout.micro_batches(model), False)
    assert noted.ranks == ran.ranks == full.ranks
    for rank, one in enumerate(ran.results):
        assert noted.results[rank]["reserved"] is None
        assert one["reserved"] == full.results[rank]["reserved"]
        assert one["reserved"] >= (ran.ranks[rank].peak_bytes or 0) > 0


@pytest.mark.parametrize("kernels", ["single", "joined"])
@pytest.mark.parametrize("checkpoint", ["none", "op"])
def test_kernels_change_times_and_not_numbers(kernels: str, checkpoint: str) -> None:
    layout, model = TrainingLayout(micro=2, checkpoint=checkpoint), LLAMA.changed(kernels=kernels)
    numbers, shapes = (step(model, layout, each) for each in (False, True))
    assert numbers.time == shapes.time and numbers.results[0]["peak"] == shapes.results[0]["peak"]
    assert (shapes.time > step(LLAMA, layout, True).time) == (kernels == "single")
    assert float(sum(numbers.results[0]["losses"])) == pytest.approx(alone(LLAMA), rel=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(
    "layout",
    [TrainingLayout(micro=2, checkpoint="selective"), TrainingLayout(tensor=2, shards=2, micro=2, sequence=False)],
    ids=str,
)
def test_whole_attention_learns_the_same(layout: TrainingLayout) -> None:
    whole = GPT.changed(attention="whole")
    numbers, shapes = (step(whole, layout, each) for each in (False, True))
    assert numbers.time == shapes.time
    assert float(sum(numbers.results[0]["losses"])) == pytest.approx(alone(GPT), rel=1e-4)  # type: ignore[call-overload]
    dropped = step(whole.changed(dropout=0.1), layout, True)
    assert step(whole.changed(dropout=0.1), layout, False).time == dropped.time
    assert dropped.time > shapes.time  # one more pass over the weights


def test_gradients_of_two_bytes_are_half_as_many() -> None:
    layout = TrainingLayout(replicas=4, micro=2)
    sent = {kind: step(GPT.changed(gradients=kind), layout, True).bytes_sent for kind in ("float32", "bfloat16")}
    assert sent["float32"] == 2 * sent["bfloat16"]


def alone(model: ModelSizes) -> float:
    """The losses of two steps of one rank that sees the same two sequences again and again."""
    if model.kind not in _alone:
        found = step(model, TrainingLayout(micro=2), False).results[0]["losses"]
        _alone[model.kind] = float(sum(found))  # type: ignore[arg-type, call-overload]
    return _alone[model.kind]


_alone: dict[str, float] = {}


def test_building_the_model_sends_nothing() -> None:
    layout = TrainingLayout(pipeline=2, tensor=2, shards=2, micro=2)
    args = (LLAMA, layout, 0)
    report = sim.run(train, 8, args, shapes=True, device=sim.gpu("h100"), net=NET)
    assert report.bytes_sent == 0
    assert report.time < 100_000_000  # 100 µs: groups are made


@pytest.mark.parametrize("said", [{}, {"kernels": "joined"}, {"loss": "fused"}])
@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
def test_the_loss_of_words_that_are_cut_over_ranks(size: int, said: dict[str, str]) -> None:
    torch.manual_seed(0)
    logits, targets = 9 * torch.randn(2, 3, 4 * size), torch.randint(4 * size, (2, 3))
    whole = logits.clone().requires_grad_()
    F.cross_entropy(whole.flatten(0, 1), targets.flatten()).backward()
    assert whole.grad is not None

    def rank() -> tuple[float, Any]:
        own = logits.chunk(size, -1)[dist.get_rank()].clone().requires_grad_()
        loss = cross_entropy(own, targets, dist.group.WORLD, LLAMA.changed(**said))
        loss.backward()
        assert own.grad is not None
        return float(loss), own.grad.numpy()

    found = launch(rank, size)
    expected = float(F.cross_entropy(logits.flatten(0, 1), targets.flatten()))
    assert [loss for loss, _ in found] == pytest.approx([expected] * size, rel=1e-6)
    together = np.concatenate([each for _, each in found], -1)
    np.testing.assert_allclose(together, whole.grad.numpy(), atol=1e-7)


@pytest.mark.parametrize(("loss", "arrays"), [("fused", 3), ("usual", 7)])
def test_a_fused_loss_holds_fewer_arrays(loss: str, arrays: int) -> None:
    """Beside the logits their gradient, and the copy that a leaf keeps. The usual one holds three of float32, each as large as two."""
    rows, words = 4096, 50368

    def rank() -> float:
        logits = torch.empty(1, rows, words, dtype=torch.bfloat16, device="cuda", requires_grad=True)
        with ledger.watch("cuda") as seen:
            cross_entropy(
                logits, torch.zeros(1, rows, dtype=torch.int64, device="cuda"), None, LLAMA.changed(loss=loss)
            ).backward()
        return seen.peak / (2 * rows * words)

    report = sim.run(rank, 1, shapes=True, device=sim.gpu("h100"))
    assert report.results[0] == pytest.approx(arrays, rel=1e-3)


def test_the_memory_of_metrics_is_told_by_short_runs() -> None:
    """Of a model with few layers their logits are the peak, and of one with many the activations."""
    few = ModelSizes("few", "gpt", 32, 128, 2, 4096, 256, 4, tied=True, loss="fused", metrics=2)
    here, layout = cluster("h100", 2, "nvlink8+400G"), TrainingLayout(shards=2, micro=2, ahead=True)
    for model in (few, few.changed(layers=5)):
        found = search.simulated(model, layout, here)
        whole = search.whole_step(model, layout, here).results[0]
        peaks = [sum(whole[moment].values()) for moment in ("peak", "metrics")]
        assert found.peak == pytest.approx(max(peaks), rel=0.01)
    with pytest.raises(ValueError, match="metrics are computed of whole logits"):
        layout_words.read("tp=2", few, 2)


# -------------------------------------------------------------------------------- its attention


@pytest.mark.parametrize("sees_all", [False, True])
def test_attention_in_tiles_is_attention(sees_all: bool) -> None:
    torch.manual_seed(0)
    q = torch.randn(2, 4, 20, 8, requires_grad=True)
    k, v = (torch.randn(2, 2, 20, 8, requires_grad=True) for _ in range(2))
    weight, found = torch.randn(2, 4, 20, 8), []
    for out in (
        F.scaled_dot_product_attention(q, k, v, is_causal=not sees_all, enable_gqa=True),
        tiled_attention(q, k, v, AttentionTiles(sees_all=sees_all)),
        *([] if sees_all else [whole_attention(q, *(x.repeat_interleave(2, 1) for x in (k, v)), 0.0)]),
    ):
        grads = torch.autograd.grad((out * weight).sum(), (q, k, v))
        found.append([each.detach().numpy() for each in (out, *grads)])
    for one, *others in zip(*found, strict=True):
        for other in others:
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
