"""A mixture of experts in a plan: ranks that share experts do what one rank does, and what it holds and sends is counted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import sim
from minitorch_dist.sim import runner
from mtd.planning import bounds, experts, layout_words, layouts, model_files, search
from mtd.planning.clusters import cluster
from mtd.planning.layouts import TrainingLayout
from mtd.planning.model_files import ModelSizes
from mtd.planning.training_step import train
from mtd.planning.transformer import TransformerPart
from mtd.planning.unhidden_time import unhidden

MODEL = ModelSizes(
    "tiny", "llama", 3, 8, 4, 12, 8, 8, kv_heads=2, ffn=12, head=4, experts=4, top_k=2, expert_ffn=6,
    shared_experts=1, dense_layers=1, capacity=2.0,
)  # fmt: skip
NET = sim.two_level(2, 4, sim.link("2us", "450GB/s"), sim.link("5us", "50GB/s"))


def loss(layout: TrainingLayout, **changes: Any) -> float:
    """The mean over the micro-batches of a step, with numbers."""
    model = MODEL.changed(batch=2 * layout.data * layout.micro, **changes)
    report = sim.run(train, layout.ranks, (model, layout, 2, "float32"), net=NET, device=sim.gpu("h100"))
    losses = next(each["losses"] for each in report.results[::-1] if each["losses"])
    return float(sum(map(float, losses)))


@pytest.mark.parametrize(
    "layout",
    [
        TrainingLayout(shards=2, experts=2),
        TrainingLayout(shards=4, experts=2),
        TrainingLayout(shards=4, experts=4),
        TrainingLayout(shards=2),
        TrainingLayout(tensor=2),
        TrainingLayout(tensor=2, shards=2, experts=2),
        TrainingLayout(tensor=2, shards=2, experts=2, sequence=False),
        TrainingLayout(shards=2, experts=2, zero=1),
        TrainingLayout(replicas=2, shards=2, experts=2, checkpoint="full"),
        TrainingLayout(pipeline=2, shards=2, experts=2, checkpoint="selective"),
        TrainingLayout(shards=2, experts=2, ahead=True),
    ],
    ids=str,
)
def test_ranks_that_share_experts_do_what_one_does(layout: TrainingLayout) -> None:
    """Two steps: the second one has the gradients of all matrices in it. All words find a slot here."""
    assert loss(layout) == pytest.approx(loss(TrainingLayout()), rel=1e-6)


def test_words_go_to_the_experts_that_they_like() -> None:
    scores = torch.tensor(np.array([[0.0, 2, 1, 0], [3, 0, 0, 1], [0, 2, 1, 0]]))
    shares, chosen = experts.routed(scores, 2)
    assert chosen.tolist() == [[1, 2], [0, 3], [1, 2]]
    assert shares.sum(-1).tolist() == pytest.approx([1, 1, 1])
    slots, places = experts.slots_of(chosen, 4, 2)
    assert slots.tolist() == [1, 0, 0, 2, 0, 2, 1, 0]  # two for each; those that stay empty look at word 0
    assert places.tolist() == [[2, 4], [0, 6], [3, 5]]


def test_words_without_a_slot_look_into_the_first() -> None:
    chosen = torch.tensor(np.zeros((5, 1), np.int64))
    slots, places = experts.slots_of(chosen, 2, 3)
    assert slots.tolist()[:3] == [0, 1, 2] and places.flatten().tolist() == [0, 1, 2, 0, 0]


@pytest.mark.parametrize("capacity", [1.0, 1.25])
def test_slots_are_a_capacity(capacity: float) -> None:
    assert experts.slots_of_expert(MODEL.changed(capacity=capacity), 64) == 32 * capacity


def test_parameters_are_those_of_the_built_model() -> None:
    built = TransformerPart(MODEL, range(MODEL.layers), "none")
    assert sum(p.numel() for p in built.parameters()) == MODEL.parameters


@pytest.mark.parametrize(
    ("name", "billions", "active"),
    [("mixtral-8x7b", 46.7, 12.9), ("qwen3-30b-a3b", 30.5, 3.3), ("deepseek-v3", 671, 37)],
)
def test_shipped_models_have_as_many_parameters_as_they_say(name: str, billions: float, active: float) -> None:
    """Latent attention is told as usual one, which has 4 billion parameters more in all layers."""
    model = model_files.read(name)
    assert model.parameters / 1e9 == pytest.approx(billions, rel=0.01)
    words = 12 * model.layers * model.query_width * model.sequence  # pairs
    own = (model.flops_per_token - words) / 6e9 + model.words * model.width / 1e9
    assert own == pytest.approx(active, rel=0.12)


@pytest.mark.slow
@pytest.mark.parametrize(
    "layout", [TrainingLayout(shards=4, experts=4), TrainingLayout(2, 2, shards=2, experts=2, zero=1)], ids=str
)
def test_one_rank_of_each_role_tells_what_all_take(layout: TrainingLayout) -> None:
    model = MODEL.changed(layers=4, batch=4 * layout.data)
    here = cluster("h100", layout.ranks, f"nvlink{layout.ranks}+400G")
    found = [
        search.run(model, layout, here, 4 // layout.all_stages, 4, fold)[0]
        for fold in (False, search.roles_of(model, layout))
    ]
    assert found[0] == found[1]


def test_a_plan_tries_experts_on_several_ranks() -> None:
    here, model = cluster("h100", 4, "nvlink4+400G"), MODEL.changed(batch=16)
    found = {each.experts for each in search.layouts(model, here) if each.shards == 4}
    assert found == {1, 4}
    assert {
        each.experts
        for each in search.layouts(model.changed(experts=0, top_k=0, shared_experts=0, dense_layers=0), here)
    } == {1}


@pytest.mark.parametrize(
    "layout",
    [
        TrainingLayout(shards=4, experts=4),
        TrainingLayout(shards=2, replicas=2, experts=2, checkpoint="op"),
        TrainingLayout(pipeline=2, shards=2, experts=2, tensor=2),
    ],
    ids=str,
)
def test_no_layout_with_experts_is_faster_than_its_bound(layout: TrainingLayout) -> None:
    model = MODEL.changed(
        layers=4, width=256, head=64, expert_ffn=256, ffn=512, sequence=128, words=512, batch=4 * layout.data
    )
    here = cluster("h100", layout.ranks, "nvlink4+400G")
    (least,) = bounds.bounded(model, [layout], here)
    assert least + unhidden(model, layout, here) <= search.simulated(model, layout, here).seconds


def exchanges(ranks: int, stride: int, length: int) -> None:
    """All ranks exchange parts of equal sizes in groups of so many, so far apart."""
    mesh = dist.device_mesh.init_device_mesh(
        "cuda", (dist.get_world_size() // (ranks * stride), ranks, stride), mesh_dim_names=("a", "group", "b")
    )
    x = torch.empty(length * ranks, device="cuda")
    y = torch.empty_like(x)
    for _ in range(2):
        dist.all_to_all_single(y, x, group=mesh["group"].get_group())
    dist.all_reduce(y, group=mesh["group"].get_group())


@pytest.mark.parametrize(
    ("gpus", "node", "ranks", "stride"),
    [(8, 8, 4, 1), (8, 8, 8, 1), (16, 4, 8, 1), (16, 8, 8, 2), (12, 4, 6, 2), (10, 2, 5, 2), (3, 1, 3, 1)],
)
def test_an_exchange_of_a_class_takes_what_that_of_all_ranks_takes(
    gpus: int, node: int, ranks: int, stride: int
) -> None:
    here = cluster("h100", gpus, f"nvlink{node}+400G")
    full, folded = (
        runner.run(exchanges, gpus, (ranks, stride, 1000), net=here.network, shapes=True, device=here.device, fold=fold)
        for fold in (False, lambda rank: 0)
    )
    assert [rank.time for rank in full.ranks] == [rank.time for rank in folded.ranks]
    assert [rank.bytes_sent for rank in full.ranks] == [rank.bytes_sent for rank in folded.ranks]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"top_k": 9}, "top_k is 1 to 4"),
        ({"experts": 0}, "needs experts"),
        ({"dense_layers": 5}, "more than 3 layers"),
        ({"capacity": 0}, "capacity is above 0"),
        ({"kind": "gpt"}, "experts need kind"),
        ({"experts": 1.5}, "whole number"),
        ({"head": -1}, "head is a whole number"),
        ({"tied": 1}, "tied is true or false"),
        ({"flash": "4"}, "flash should be"),
        ({"products": "int8"}, "products should be"),
    ],
)
def test_wrong_sizes_are_named(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        MODEL.changed(**changes)


def test_experts_have_to_divide() -> None:
    faults = [*layouts.faults(TrainingLayout(shards=6, experts=3), MODEL.changed(batch=12), 6)]
    assert any("ep = 3 does not divide experts = 4" in fault for fault in faults)
    assert any("ep = 2 does not divide shards = 1" in f for f in layouts.faults(TrainingLayout(experts=2), MODEL, 1))
    assert layout_words.read("fsdp=4 ep=2", MODEL, 4)[1].experts == 2
