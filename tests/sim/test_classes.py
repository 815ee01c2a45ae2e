"""Classes of ranks: one rank of each replays, and the report is that of the run in full, `==`."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import event, given, settings, strategies as st

import minitorch_dist as torch
from minitorch_dist import distributed as dist, sim
from minitorch_dist.distributed import new_groups
from mtd.planning import search
from mtd.planning.fold import repeats
from mtd.planning.fold.class_replay import ClassReplayer
from mtd.planning.layouts import CHECKPOINTS, TrainingLayout, faults
from mtd.planning.model_files import ModelSizes
from mtd.planning.training_step import train
from transports.virtual.topology import Topology

INNER, OUTER = sim.link("2us", "450GB/s"), sim.link("5us", "400Gb/s")
MODEL = ModelSizes("tiny", "llama", 4, 64, 4, 96, 32, 8, kv_heads=4, ffn=64)
NETS: dict[str, Topology] = {
    "beside": sim.two_level(8, 4, INNER, OUTER, "beside"),
    "one port": sim.two_level(16, 2, INNER, OUTER),
    "uniform": sim.uniform("5us", "400Gb/s"),
    "rails": sim.rails(8, 4, INNER, OUTER),
}


def step(layout: TrainingLayout, fold: Any, net: Topology, model: ModelSizes = MODEL, **options: Any) -> Any:
    return sim.run(
        train,
        layout.ranks,
        (model, layout),
        net=net,
        device=sim.gpu("h100"),
        memory="80GB",
        shapes=True,
        fold=fold,
        **options,
    )


def the_same(layout: TrainingLayout, net: Topology, **options: Any) -> sim.Folded:
    """The report of the folded step is that of the full one. How it was folded."""
    full = step(layout, False, net, **options)
    folded = step(layout, search.roles_of(MODEL, layout), net, **options)
    assert folded.ranks == full.ranks
    assert [each["peak"] for each in folded.results] == [each["peak"] for each in full.results]
    found: sim.Folded = folded.folded
    assert not found.refused
    return found


@st.composite
def layouts(draw: Any) -> TrainingLayout:
    tensor, pipeline, shards, replicas = (draw(st.sampled_from([1, 2])) for _ in range(4))
    schedule, stages = draw(st.sampled_from([("1F1B", 1), ("Interleaved1F1B", 2), ("GPipe", 1)]))
    if pipeline == 1:
        schedule, stages = "1F1B", 1
    layout = TrainingLayout(
        tensor, pipeline, shards, replicas, 1, draw(st.sampled_from(CHECKPOINTS)), schedule, stages, pipeline == 1
    )
    return layout


@pytest.mark.slow
@settings(max_examples=3, deadline=None)
@given(layouts(), st.sampled_from(sorted(NETS)))
def test_any_layout(layout: TrainingLayout, net: str) -> None:
    if not any(faults(layout, MODEL, layout.ranks)) and layout.ranks > 1:
        the_same(layout, NETS[net])


@pytest.mark.slow
def test_a_stage_is_a_class() -> None:
    layout = TrainingLayout(2, 2, shards=2, replicas=2, zero=2)
    found = the_same(layout, NETS["beside"])
    assert found.classes == 2 and not found.undivided


@pytest.mark.parametrize(("shards", "replicas"), [(1, 3), (2, 3), (1, 5), (1, 6)])
def test_any_number_of_replicas_is_a_class(shards: int, replicas: int) -> None:
    """Their sums are padded to equal chunks, so a ring ends at one instant on all of them."""
    layout = TrainingLayout(2, 1, shards=shards, replicas=replicas)
    model = MODEL.changed(layers=1, batch=layout.data, words=98)
    net = sim.two_level(16, 2, sim.link("2us", "4GB/s"), sim.link("5us", "1GB/s"), "beside")
    roles = search.roles_of(model, layout)
    full, folded = (step(layout, fold, net, model) for fold in (False, roles))
    assert folded.ranks == full.ranks
    assert folded.folded is not None and folded.folded.classes == len(folded.folded.roles)


def test_a_straggler_has_clocks_of_its_own() -> None:
    layout = TrainingLayout(1, 1, shards=4)
    found = the_same(layout, NETS["beside"], speeds={3: 0.5})
    assert found.classes > 1 or found.undivided


def test_micro_batches_that_are_noted_do_what_they_did(monkeypatch: pytest.MonkeyPatch) -> None:
    """Times, bytes, peaks and FLOP of the step are those of all micro-batches, run one by one."""
    layout = TrainingLayout(1, 2, shards=2, checkpoint="full", zero=2)
    model = MODEL.changed(batch=16, layers=2)
    noted = step(layout, search.roles_of(model, layout), NETS["beside"], model)
    assert noted.folded is not None and not noted.folded.refused
    again = step(layout, noted.folded, NETS["beside"], model)  # notes one more
    assert again.ranks == noted.ranks and again.results[0]["peak"] == noted.results[0]["peak"]
    monkeypatch.setattr(repeats, "FIRST", 1000)
    run = step(layout, search.roles_of(model, layout), NETS["beside"], model)
    assert noted.ranks == run.ranks
    assert noted.results[0]["peak"] == run.results[0]["peak"]


def uneven() -> None:
    """An all_reduce whose chunks differ by a number, and a message from the first rank to the last."""
    rank, size = dist.get_rank(), dist.get_world_size()
    dist.all_reduce(torch.ones(size + 1, device="cuda"), algorithm="ring")
    if rank == 0:
        dist.send(torch.ones(3, device="cuda"), size - 1)
    if rank == size - 1:
        dist.recv(torch.ones(3, device="cuda"), 0)


def tree() -> None:
    x = torch.ones(100, device="cuda")
    dist.broadcast(x, 0)
    dist.all_reduce(x, algorithm="ring")


@pytest.mark.parametrize("size", [2, 3, 5, 8])
@pytest.mark.parametrize("program", [uneven, tree])
def test_ranks_that_differ_are_kept_apart(program: Any, size: int) -> None:
    options: dict[str, Any] = {"net": NETS["beside"], "device": sim.gpu("h100"), "shapes": True}
    full, folded = (sim.run(program, size, fold=fold, **options) for fold in (False, True))
    assert folded.ranks == full.ranks


@pytest.mark.parametrize("net", [sim.torus((8,), OUTER), sim.fat_tree(2, 4, 1, OUTER)])
def test_links_that_several_ranks_share_have_no_classes(net: Topology) -> None:
    found = the_same(TrainingLayout(1, 1, shards=8), net)
    assert "share" in found.undivided and found.classes == 0


# ------------------------------------------------------------ acts that nothing disturbs are one event


def mixture(pp: int, dp: int, tp: int, moves: list[tuple[str, int, int]]) -> None:
    """Each stage does these moves in this order, at instants of its own. They are computing, collectives along an axis, messages
    to the next stage, works that go on beside, and waits for them."""
    with new_groups.without_meeting():
        mesh = dist.device_mesh.init_device_mesh("cuda", (pp, dp, tp), mesh_dim_names=("pp", "dp", "tp"))
    stage, works = mesh.get_local_rank("pp"), list[Any]()
    stages = mesh.get_group("pp")
    for kind, size, skew in moves:
        x = torch.ones(size * dp * tp, device="cuda")
        if kind == "compute":
            for _ in range(1 + skew * stage):
                x = x.exp()
        elif kind == "message":
            works.append(dist.isend(x, group=stages, group_dst=(stage + 1) % pp))
            works.append(dist.irecv(torch.empty_like(x), group=stages, group_src=(stage - 1) % pp))
        elif kind == "wait":
            for work in works:
                work.wait()
            works.clear()
        else:
            group = mesh.get_group("tp" if skew % 2 else "dp")
            work = dist.all_reduce(x, group=group, async_op=kind == "beside", algorithm="ring")
            works += [work] if kind == "beside" else []
    for work in works:
        work.wait()


MOVES = st.tuples(
    st.sampled_from(["compute", "collective", "collective", "message", "beside", "wait"]),
    st.sampled_from([10, 1000, 100_000, 3_000_000]),
    st.integers(0, 5),
)


@settings(max_examples=12, deadline=None)
@given(
    st.sampled_from([(2, 1, 2), (2, 2, 2), (3, 1, 2), (2, 2, 3), (5, 1, 2), (2, 3, 1)]),
    st.lists(MOVES, min_size=4, max_size=24),
    st.sampled_from(["beside", "one port", "uniform", "rails"]),
)
def test_acts_together_are_those_one_by_one(mesh: Any, moves: Any, net: str) -> None:
    """This holds for any message that comes to their ports, at any instant. The full run has the same times, too."""
    options: dict[str, Any] = {"net": NETS[net], "device": sim.gpu("h100"), "shapes": True}
    size, args = mesh[0] * mesh[1] * mesh[2], (*mesh, moves)
    of_stage = [rank // (mesh[1] * mesh[2]) for rank in range(size)].__getitem__
    together = sim.run(mixture, size, args, fold=of_stage, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ClassReplayer, "_may_go_together", lambda self: False)
        one_by_one = sim.run(mixture, size, args, fold=of_stage, **options)
    assert together.ranks == one_by_one.ranks == sim.run(mixture, size, args, **options).ranks
    assert not together.folded.refused
    event(f"{together.folded.classes > 0} {together.folded.undivided}")


@pytest.mark.parametrize("skew", range(12))
def test_a_message_that_comes_in_the_midst_of_acts_together(skew: int) -> None:
    """It comes while one computes, at the instants of its collectives, and after them, on the port that they use."""
    moves = [("compute", 1000, skew), ("message", 100_000, 0), ("compute", 1_000_000, 1)]
    moves += [("collective", 100_000, 1), ("compute", 1000, 0), ("collective", 10, 0)] * 2
    options: dict[str, Any] = {"net": NETS["one port"], "device": sim.gpu("h100"), "shapes": True}
    args = (2, 2, 2, moves)
    together = sim.run(mixture, 8, args, fold=lambda rank: rank // 4, **options)
    assert together.ranks == sim.run(mixture, 8, args, **options).ranks
    assert together.folded.classes == 2, together.folded.undivided
