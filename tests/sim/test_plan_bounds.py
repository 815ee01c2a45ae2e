"""Layouts that cannot win are not simulated, and the fastest one is the same as if they were."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, strategies as st

from mtd.cli import plan_table
from mtd.planning import bounds, pruning, search
from mtd.planning.clusters import GpuCluster, cluster
from mtd.planning.layouts import TrainingLayout, faults
from mtd.planning.model_files import ModelSizes
from mtd.planning.pruning import Candidate
from mtd.planning.search import PlanRow
from mtd.planning.unhidden_time import unhidden
from tests.deep import some_of

NEAREST = 0.95  # of a step without messages, at least
MODEL = ModelSizes("four", "llama", 2, 1024, 8, 4000, 8192, 2, kv_heads=4, ffn=3072)


def bound(model: ModelSizes, layout: TrainingLayout, here: GpuCluster) -> float:
    """With all that is counted."""
    (least,) = bounds.bounded(model, [layout], here)
    return least + unhidden(model, layout, here)


@pytest.mark.slow
def test_the_fastest_of_all_is_found_by_simulating_some() -> None:
    """No layout is faster than its bound. So the fastest one is among those that are worth a simulation."""
    here = cluster("h100", 2, "nvlink2+400G")
    rows, _ = search.estimated(MODEL, here)
    every = pruning.candidates(MODEL, here, [row for row in rows if row.layout.micro == 1])
    found = {each.layout: search.simulated(MODEL, each.layout, here) for each in every}
    for layout, least in every:
        assert found[layout].seconds >= least * (1 - 1e-9), layout
    done, still_open, rest = pruning.standing(every, found, len(every))
    assert not still_open and rest and len(done) + len(rest) == len(every)
    assert min(row.seconds for row in done) == min(row.seconds for row in found.values())


def test_a_faster_rank_makes_the_bound_lower() -> None:
    layout, model = TrainingLayout(micro=2), MODEL.changed(batch=2)
    speeds = [{}, {0: 1.5}]
    here = [cluster("h100", 1, "nvlink2+400G", speeds=each) for each in speeds]  # type: ignore[arg-type]
    (slow,), (fast,) = (bounds.bounded(model, [layout], each) for each in here)
    assert fast == pytest.approx(slow / 1.5)
    assert fast <= search.simulated(model, layout, here[1]).seconds


@pytest.mark.slow
@pytest.mark.parametrize(
    "layout",
    [
        TrainingLayout(2, 2, micro=2, checkpoint="full"),
        TrainingLayout(1, 2, 2, micro=1, schedule="Interleaved1F1B", stages=2, zero=2),
        TrainingLayout(1, 1, 2, 2, micro=2, checkpoint="selective"),
        TrainingLayout(1, 3, micro=2, sequence=False),
    ],
    ids=str,
)
def test_a_bound_is_near(layout: TrainingLayout) -> None:
    """Where links are fast, little is missing in it."""
    model = MODEL.changed(layers=layout.all_stages, batch=8 * layout.data)
    here = cluster("h100", layout.ranks, "sim://?latency=0s&rate=1000TB/s")
    found = search.simulated(model, layout, here).seconds
    assert NEAREST * found < bound(model, layout, here) <= found


@pytest.mark.slow
@pytest.mark.parametrize(("shards", "replicas", "zero"), [(4, 1, 3), (2, 2, 2)])
def test_a_bound_has_the_gathers_of_each_micro_batch(shards: int, replicas: int, zero: int) -> None:
    layout = TrainingLayout(2, 1, shards, replicas, zero=zero)
    model = MODEL.changed(batch=2 * layout.data, sequence=512)
    found = []
    for between in ("400G", "40G"):
        here = cluster("h100", layout.ranks, f"nvlink2+{between}")
        found.append(bound(model, layout, here))
        assert found[-1] <= search.simulated(model, layout, here).seconds
    tables = 2 * model.words * model.width
    parameters = 2 * (model.layers * model.layer_parameters + tables) / layout.tensor
    sent = parameters * (shards - 1) / shards * layout.micro_batches(model)
    assert found[1] - found[0] > 0.95 * sent * (1 / 5e9 - 1 / 50e9)


def random_case(seed: int) -> tuple[ModelSizes, TrainingLayout, GpuCluster]:
    """A small model on a few GPUs, with links and ranks of any speed. Its step is run whole."""
    draw = random.Random(seed)
    pipeline = draw.choice([1, 1, 2, 2, 3])
    schedule, stages = "1F1B", 1
    if pipeline > 1:
        schedule, stages = draw.choice([("1F1B", 1), ("GPipe", 1), ("Interleaved1F1B", 2)])
    layout = TrainingLayout(
        draw.choice([1, 2]),
        pipeline,
        draw.choice([1, 2, 3]),
        draw.choice([1, 1, 2]),
        draw.choice([1, 2]),
        draw.choice(["none", "selective", "full"]),
        schedule,
        stages,
        draw.choice([1, 2, 3]) if pipeline == 1 else 0,
    )
    kind, micro = draw.choice(["llama", "gpt"]), pipeline * draw.choice([1, 2])
    model = ModelSizes(
        "any",
        kind,
        layout.all_stages,
        256,
        8,
        draw.choice([500, 4000]),
        512,
        micro * layout.micro * layout.data,
        kv_heads=4 if kind == "llama" else 8,
        ffn=768,
        gradients=draw.choice(["float32", "bfloat16"]),
    )
    rate, node = draw.choice([450, 50, 5, 0.2]), draw.choice([1, 2, 4, 8])
    nic = draw.choice(["per_gpu", "beside", "per_node"])
    net = draw.choice(
        [
            f"sim://?latency=5us&rate={rate}GB/s",
            f"two_level:nodes={-(-layout.ranks // node)},gpus={node},intra=2us/450GB/s,inter=5us/{rate}GB/s,nic={nic}",
        ]
    )
    speeds = draw.choice([{}, {draw.randrange(layout.ranks): draw.choice([0.5, 1.5])}])
    assert not [*faults(layout, model, layout.ranks)]
    return model, layout, cluster("h100", layout.ranks, net, speeds=speeds)


@pytest.mark.parametrize("seed", some_of(range(40), 1, 4, 6))
def test_no_layout_is_faster_than_its_bound(seed: int) -> None:
    model, layout, here = random_case(seed)
    assert bound(model, layout, here) <= search.simulated(model, layout, here).seconds * (1 + 1e-9)


def row(number: int, seconds: float, fits: bool) -> PlanRow:
    memory = {"parameter": 1.0}
    return PlanRow(TrainingLayout(micro=number), seconds, memory, True, fits=fits)


PLANS = st.lists(st.tuples(st.integers(1, 20), st.integers(0, 5), st.booleans()), max_size=8)


@given(PLANS, st.integers(1, 9), st.integers(1, 4))
def test_the_answer_does_not_depend_on_how_many_run_at_once(
    plans: list[tuple[int, int, bool]], most: int, jobs: int
) -> None:
    every = [Candidate(TrainingLayout(micro=n), least) for n, (least, _, _) in enumerate(plans)]
    rows = {
        each.layout: row(n, each.least + more, fits)
        for n, (each, (_, more, fits)) in enumerate(zip(every, plans, strict=True))
    }
    found: dict[TrainingLayout, PlanRow] = {}
    while layouts := pruning.standing(every, found, most).open:
        for layout in reversed(layouts[:jobs]):
            found[layout] = rows[layout]
    standing = pruning.standing(every, found, most)
    fastest, expected = math.inf, []
    for each in every:
        if len(expected) < most and each.least < fastest:
            expected.append(rows[each.layout])
            fastest = min([fastest, *(each.seconds for each in expected if each.fits)])
    assert standing.done == expected
    assert len(standing.done) + len(standing.rest) == len(every)
    if most >= len(every):
        fitting = [each.seconds for each in rows.values() if each.fits]
        assert fastest == min(fitting, default=math.inf)


def test_layouts_that_may_be_faster_are_told() -> None:
    rows = [row(1, 5.0, True), row(2, 4.0, False)]
    rest = [Candidate(TrainingLayout(micro=n), least) for n, least in ((4, 4.5), (8, 6.0))]
    assert plan_table.left_out(rows, rest) == "of the other 2, 1 may be faster (--simulate 3)"
    assert plan_table.left_out(rows, rest[1:]) == "the other 1 cannot be faster"
    assert plan_table.left_out(rows, []) == "there are no others"
