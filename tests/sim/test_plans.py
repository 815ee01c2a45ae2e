"""`mtd plan`: what a layout takes, plans that go on after an interruption, and wrong words that are answered."""

from __future__ import annotations

import contextlib
import errno
import io
import json
import math
import os
import signal
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from mtd import cli
from mtd.cli import plan_page
from mtd.pages import whole_files
from mtd.planning import bounds, clusters, formula, reasons, search, unhidden_time
from mtd.planning.clusters import cluster
from mtd.planning.layouts import TrainingLayout, faults
from mtd.planning.model_files import ModelSizes
from mtd.planning.plan_cache import PlanCache
from tests.deep import some_of

MODEL = ModelSizes("six", "llama", 6, 64, 4, 96, 16, 24, kv_heads=2, ffn=96)
SMALL = """kind = "gpt"
layers = 2
width = 256
heads = 1
words = 512
sequence = 256
batch = 2
"""
FLAGS = ["--gpus", "2", "--simulate", "2", "--jobs", "1", "--device", "b200"]
COMMAND = ["plan", "gpt-small", "--batch", "4", *FLAGS]
SMALLER = ["plan", "small.toml", *FLAGS]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("layout", "words", "ffn"),
    some_of(
        [
            (TrainingLayout(2, 2, 4, zero=2), 96, 96),
            (TrainingLayout(2, 2, 4, zero=2), 92, 84),
            (TrainingLayout(2, 2, 2, 2, zero=2), 90, 82),
            (TrainingLayout(2, 2, 1, 4), 96, 96),
            (TrainingLayout(1, 1, 4), 92, 84),
            (TrainingLayout(2, 1, 2, 2), 96, 96),
            (TrainingLayout(1, 1, 8, micro=2, checkpoint="full"), 96, 96),
        ],
        1,
        3,
        6,
    ),
    ids=str,
)
def test_folded_runs_are_full_runs(layout: TrainingLayout, words: int, ffn: int) -> None:
    """Also where the last shards have fewer rows than the others, and where parameters are given back."""
    model = MODEL.changed(batch=16, words=words, ffn=ffn)
    here = cluster("h100", layout.ranks, "nvlink4+400G")
    whole, _ = search.run(model, layout, here, 2, 2, False)
    folded, proved = search.run(model, layout, here, 2, 2, search.roles_of(model, layout))
    assert proved is not None and not proved.refused
    assert folded == whole == search.run(model, layout, here, 2, 2, proved)[0]


@pytest.mark.slow
def test_bytes_by_kind_of_link_are_those_of_the_collectives() -> None:
    """FSDP alone that keeps its parameters gathers them once, in half precision, and scatters gradients once,
    in single precision."""
    shards = 4
    layout = TrainingLayout(shards=shards, zero=2)
    model = MODEL.changed(batch=shards)
    every = (shards - 1) * model.parameters * (2 + 4)
    here = cluster("h100", shards, "nvlink2+400G")
    found, _ = search.run(model, layout, here, model.layers, 1, False)
    assert found["bytes within nodes"] + found["bytes between nodes"] == every
    # Between the two nodes first, one shard from each rank; then in a node, two of them.
    assert found["bytes within nodes"] == 2 * found["bytes between nodes"]
    alike = cluster("h100", shards, "sim://?latency=2us&rate=450GB/s")
    assert search.run(model, layout, alike, model.layers, 1, False)[0]["bytes all links"] == every


@pytest.mark.parametrize(("shards", "replicas"), [(4, 1), (2, 2), (1, 2)])
def test_shards_send_within_their_node_and_replicas_between_nodes(shards: int, replicas: int) -> None:
    """In half precision each micro-batch gathers the layers twice, and the logits once. In single precision all gradients
    are scattered and summed once."""
    layout = TrainingLayout(shards=shards, replicas=replicas)
    model, micro = MODEL.changed(batch=2 * layout.ranks), 2
    here = cluster("h100", layout.ranks, f"nvlink{shards}+400G")
    found, _ = search.run(model, layout, here, model.layers, micro, False)
    once = model.words * model.width + model.width  # the logits and their norm
    gathered = micro * (2 * (model.parameters - once) + once)
    within = replicas * (shards - 1) * (4 * micro * model.parameters + 2 * gathered)
    assert found["bytes within nodes"] == within
    assert found["bytes between nodes"] == 2 * (replicas - 1) * 4 * model.parameters


@pytest.mark.parametrize("pipeline", [1, 2])
@pytest.mark.parametrize(("shards", "replicas"), [(4, 1), (2, 2), (1, 4)])
def test_the_formula_counts_what_a_rank_keeps(shards: int, replicas: int, pipeline: int) -> None:
    """The optimizer's memory is the ledger's. Of the parameters a table may be given back before the peak. All else is an
    estimate."""
    layout = TrainingLayout(1, pipeline, shards, replicas, zero=2)
    model = MODEL.changed(layers=2 * pipeline, words=640, batch=2 * layout.data)
    found = search.simulated(model, layout, cluster("h100", layout.ranks, "nvlink2+400G"))
    told, norm = (formula.memory(model, layout), 4 * model.width)  # the last one is not in the formula
    assert found.memory["optimizer"] == pytest.approx(told["optimizer"], abs=2 * norm)
    table = 2 * model.words * model.width
    assert told["parameter"] - table <= found.memory["parameter"] <= told["parameter"] + 2 * norm
    assert found.peak == pytest.approx(sum(told.values()), rel=0.5)


@pytest.mark.slow
def test_memory_is_that_of_the_step() -> None:
    """Its peak grows with the shards of parameters, gradients and the optimizer. The whole layers that are built first
    would be twice as much."""
    layout = TrainingLayout(tensor=2, shards=4)
    model = MODEL.changed(width=512, ffn=1536, batch=4, sequence=8)
    here = cluster("h100", layout.ranks, "nvlink8+400G")
    peaks = []
    for layers in (8, 12):
        found, _ = search.run(model, layout, here, layers, 1, search.roles_of(model, layout))
        peaks.append(sum(value for word, value in found.items() if word.startswith("memory 0 ")))
    own = 4 * model.layer_parameters / layout.tensor / layout.shards
    assert peaks[1] - peaks[0] == pytest.approx(4 * 4 * own, rel=0.1)


def test_replicas_of_shards_are_tried() -> None:
    """Every way to divide the ranks with data, and one of them where none are shared."""
    found = {
        (each.shards, each.replicas, each.zero)
        for each in search.layouts(MODEL, cluster("h100", 12, "nvlink4+400G"))
        if each.tensor == each.pipeline == 1
    }
    shared = {(shards, 12 // shards, zero) for shards in (2, 3, 4, 6, 12) for zero in (1, 2, 3)}
    assert found == shared | {(1, 12, 1)}


def test_shards_within_nodes_take_what_shards_over_all_take() -> None:
    """Also where the step waits for the links between nodes: a gather over all nodes is hierarchical, and sends as little
    between them as replicas do. By the formula, and by the run. (More collectives are more launches, which are free here.)"""
    here = cluster("h100", 8, "nvlink4+10G", launch=0)
    model = MODEL.changed(layers=2, width=512, ffn=1536, batch=8)
    every, node = TrainingLayout(shards=8), TrainingLayout(shards=4, replicas=2)
    for seconds in (
        lambda layout: formula.estimate(model, layout, here).seconds,
        lambda layout: search.simulated(model, layout, here).seconds,
    ):
        assert seconds(node) == pytest.approx(seconds(every), rel=0.03)


@pytest.mark.slow
@pytest.mark.parametrize(("zero", "sent"), [(3, 8), (2, 6), (1, 0)])
def test_a_micro_batch_gathers_and_scatters_without_a_pipeline(zero: int, sent: int) -> None:
    """The formula's bytes for a parameter are the run's: two gathers and a scatter, one gather and a scatter, or nothing."""
    here = cluster("h100", 4, "sim://?latency=0s&rate=1MB/s")
    layout = TrainingLayout(shards=4, zero=zero)
    took = [formula.estimate(MODEL.changed(batch=4 * micro), layout, here).seconds for micro in (2, 3)]
    own = MODEL.layers * MODEL.layer_parameters
    assert took[1] - took[0] == pytest.approx(own * 3 / 4 * sent / 1e6, rel=1e-3)
    fold = search.roles_of(MODEL, layout)
    runs = [search.run(MODEL, layout, here, MODEL.layers, micro, fold)[0]["sent"] for micro in (2, 3)]
    every = MODEL.parameters - MODEL.words * MODEL.width * (zero == 3)  # logits are not given back
    assert runs[1] - runs[0] == pytest.approx(every * 3 / 4 * sent, rel=0.05)


@pytest.mark.parametrize("micro", [4, 8])
@pytest.mark.parametrize("schedule", ["1F1B", "Interleaved1F1B"])
def test_a_pipeline_gathers_parameters_once_for_all_micro_batches(schedule: str, micro: int) -> None:
    """As torch's stages do, which give parameters back after the backward of the last micro-batch only."""
    stages = 1 if schedule == "1F1B" else 2
    layout = TrainingLayout(pipeline=2, shards=4, zero=2, schedule=schedule, stages=stages)
    model = MODEL.changed(layers=4, batch=4 * micro, width=128, sequence=8)
    here = cluster("h100", 8, "sim://?latency=2us&rate=450GB/s")
    fold = search.roles_of(model, layout)
    found, _ = search.run(model, layout, here, 4 // layout.all_stages, micro, fold)
    between = 2 * model.batch * model.sequence * model.width * 2 * (layout.all_stages - 1)
    parameters = (layout.shards - 1) * model.parameters * (2 + 4)
    assert found["bytes all links"] == pytest.approx(parameters + between, rel=0.03)


def test_messages_between_stages_decide_on_a_slow_link() -> None:
    """With two stages on each rank three times as many are sent. By the formula, and by the run."""
    here, model = (cluster("h100", 2, "sim://?latency=0s&rate=1MB/s"), MODEL.changed(layers=4, batch=8))
    told, took = [], []
    for schedule, stages in (("1F1B", 1), ("Interleaved1F1B", 2)):
        layout = TrainingLayout(pipeline=2, schedule=schedule, stages=stages)
        told.append(formula.estimate(model, layout, here).seconds)
        took.append(search.simulated(model, layout, here).seconds)
        assert 0.5 * took[-1] < told[-1] <= took[-1]
    assert told[0] < told[1] and took[0] < took[1]


def bubble(pipeline: int, stages: int, micro: int, words: int) -> search.PlanRow:
    """Where messages and everything but products take no time, a small product takes no longer than its FLOP,
    and nothing is slower while messages move."""
    schedule = "1F1B" if stages == 1 else "Interleaved1F1B"
    layout = TrainingLayout(pipeline=pipeline, schedule=schedule, stages=stages, zero=2)
    model = ModelSizes("equal", "gpt", 2 * layout.all_stages, 1024, 8, words, 512, micro)
    free = {"bandwidth": "100000TB/s", "contention": 1.0, "launch": 0, "half_area": 0, "half_depth": 0}
    here = cluster("h100", pipeline, "sim://?latency=0s&rate=1000000TB/s", **free)
    return search.simulated(model, layout, here)


@pytest.mark.parametrize(
    ("pipeline", "stages", "micro"),
    some_of([(2, 1, 4), (4, 1, 4), (4, 1, 16), (3, 1, 9), (2, 2, 8), (4, 2, 4), (4, 2, 16)], 0, 1, 3, 5),
)
def test_equal_stages_are_idle_for_the_bubble(pipeline: int, stages: int, micro: int) -> None:
    """The run's own idle share is (P - 1) / (m v + P - 1)."""
    row = bubble(pipeline, stages, micro, 8)
    assert row.bubble == pytest.approx((pipeline - 1) / (micro * stages + pipeline - 1))
    assert row.idle == pytest.approx(row.bubble, rel=0.005)


def test_a_last_stage_with_more_to_do_lets_the_others_wait() -> None:
    assert bubble(2, 1, 4, 16_000).idle > 1.2 * bubble(2, 1, 4, 8).idle


def test_every_layout_that_is_tried_divides_and_fits() -> None:
    here = cluster("h100", 8, "nvlink4+400G")
    rows, refused = search.estimated(MODEL, here)
    assert rows and not refused
    for row in rows:
        assert not [*faults(row.layout, MODEL, 8)]
        assert row.peak <= (here.device.memory or 0)
    assert [row.seconds for row in rows] == sorted(row.seconds for row in rows)


def test_sharding_holds_less_and_checkpointing_holds_less() -> None:
    def peak(**words: object) -> float:
        return sum(formula.memory(MODEL, TrainingLayout(**words)).values())  # type: ignore[arg-type]

    assert peak(shards=2) < peak()
    assert peak(checkpoint="full") < peak(checkpoint="op") < peak(checkpoint="selective") == peak()


# ------------------------------------------------------------------------------------ the cluster


def test_nodes_by_name() -> None:
    here = cluster("a100-80", 16, "nvlink8+200G", slower=2)
    assert (here.per_node, here.rate(True), here.rate(False)) == (8, 235e9, 12.5e9)
    for device, net, said in (
        ("h200", "nvlink8", "write it like nvlink8"),
        ("mi300x", "nvlink8+400G", "no NVLink"),
        ("h10", "tcp", "no network is called"),
        ("h300", "nvlink8+400G", "no device is called"),
    ):
        with pytest.raises(ValueError, match=said):
            cluster(device, 8, net)
    with pytest.raises(ValueError, match="ranks are 0 to 7"):
        cluster("h100", 8, "nvlink8+400G", speeds={8: 0.5})
    assert clusters.cluster("h100", 8, "nvlink8+400G").key() != here.key()


def test_a_straggler_and_a_slower_link_take_longer() -> None:
    layout = TrainingLayout(shards=4, micro=6)
    took = [
        search.run(MODEL, layout, cluster("h100", 4, "nvlink2+400G", **words), 2, 1, False)[0]["seconds"]  # type: ignore[arg-type]
        for words in ({}, {"speeds": {3: 0.5}}, {"slower": 4})
    ]
    assert took[0] < min(took[1:])


# -------------------------------------------------------------------------------------- failures


def test_the_interval_is_near_the_best_one() -> None:
    """Daly's formula: no other interval makes the expected time a thousandth shorter."""
    mtbf, saving, restart = 10_000.0, 60.0, 300.0
    found = reasons.with_failures(mtbf, saving, restart)

    def factor(interval: float) -> float:
        return mtbf / interval * math.exp(restart / mtbf) * math.expm1((interval + saving) / mtbf)

    assert found.factor == pytest.approx(factor(found.interval))
    assert found.factor <= 1.001 * min(factor(s) for s in range(100, 5000, 10))
    with pytest.raises(ValueError, match="above 0"):
        reasons.with_failures(0, 1, 1)


# ------------------------------------------------------------------------------------ the command


class Planned(NamedTuple):
    """A plan of the small model: what it said as JSON, and the file that it has kept."""

    said: str
    kept: dict[str, Any]


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Planned:
    model = tmp_path_factory.mktemp("planned") / "small.toml"
    model.write_text(SMALL, encoding="utf-8")
    cache, said = model.with_name("kept.json"), io.StringIO()
    with contextlib.redirect_stdout(said):
        assert cli.main(["plan", str(model), *FLAGS, "--json", "--cache", str(cache)]) == 0
    return Planned(said.getvalue(), json.loads(cache.read_text()))


@pytest.fixture
def small_model(planned: Planned, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with a model for which few layouts are tried, and with the small runs for its bounds."""
    monkeypatch.chdir(tmp_path)
    Path("small.toml").write_text(SMALL, encoding="utf-8")
    Path(".mtd-plan.json").write_text(json.dumps({**planned.kept, "rows": {}}))


@pytest.mark.usefixtures("small_model")
def test_the_command_shows_resumes_and_compares(
    planned: Planned, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = planned.said
    Path(".mtd-plan.json").write_text(json.dumps(planned.kept))
    rows = json.loads(first)["layouts"]
    assert len(rows) == 2
    assert all([*row["links"]] == ["within nodes", "between nodes"] for row in rows)
    Path("before.json").write_text(first)

    def refuse(*_: object) -> None:
        raise AssertionError("it was simulated before")

    monkeypatch.setattr(search, "simulated", refuse)  # all comes from the cache
    assert cli.main([*SMALLER, "--against", "before.json", "--mtbf", "3h"]) == 0
    shown, told = capsys.readouterr()
    assert "2 simulated before, from .mtd-plan.json" in told
    assert "a GPU is idle, on average" in " ".join(shown.split())
    assert "B within nodes and 0 B between nodes" in " ".join(shown.split())
    assert "It fits: " in shown and "GiB of the 168 GiB that each GPU has" in " ".join(shown.split())
    assert "+0.0% seconds" in shown and "Daly" in shown and "the fastest" in shown
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.usefixtures("small_model")
def test_layouts_in_processes_are_layouts_in_one(planned: Planned, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([*SMALLER, "--json", "--jobs", "2"]) == 0
    assert capsys.readouterr().out == planned.said


@pytest.mark.usefixtures("small_model")
def test_a_process_that_is_ended_is_told_of(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "simulated", die)
    assert cli.main([*SMALLER, "--jobs", "2"]) == 1
    assert "was ended from outside" in " ".join(capsys.readouterr().err.split())


def die(*_: object, **more: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_no_category_of_memory_is_negative() -> None:
    """Where peaks of short runs come at different moments, a line through a category may fall below 0."""
    longest = {"memory 3 parameter": 6.0, "memory 3 other": 2.0, "memory 0 other": 9.0}
    assert search._as_in(longest, "3", {"parameter": 20.0, "other": -4.0}) == {"parameter": 12.0, "other": 4.0}


def test_short_names_tell_layouts_apart_and_fit_the_table() -> None:
    model, here = MODEL.changed(layers=64, batch=256), cluster("h100", 64, "nvlink8+400G")
    every = [*search.layouts(model, here)]
    assert len({each.short for each in every}) == len({str(each) for each in every}) == len(every)
    assert max(len(each.short) for each in every) <= 38
    both = [TrainingLayout(shards=2, pipeline=2, zero=each).short for each in (3, 1)]
    assert both == ["fsdp2 pp2 micro1 zero3", "fsdp2 pp2 micro1"]


@pytest.mark.usefixtures("small_model")
def test_an_interrupted_plan_keeps_what_is_done(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = search.simulated, []

    def once(*args: object) -> object:
        if calls:
            raise KeyboardInterrupt
        calls.append(args)
        return real(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(search, "simulated", once)
    assert cli.main(SMALLER) == 130
    assert "the same command goes on" in capsys.readouterr().err
    assert len(json.loads(Path(".mtd-plan.json").read_text())["rows"]) == 1


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans whose runs take no time: the numbers are made up."""

    def measured(model: object, alone: TrainingLayout, *_: object) -> bounds.MicroBatchTimes:
        return bounds.MicroBatchTimes((1e-3 * alone.micro, 2e-3), (1e-4, 2e-4 * alone.tensor))

    def simulated(model: object, layout: TrainingLayout, *_: object) -> search.PlanRow:
        shares = {"computing": 0.5, "sending": 0.25, "waiting": 0.25}
        return search.PlanRow(layout, 1 + layout.shards / 8, {"parameter": 8.0}, True, shares)

    monkeypatch.setattr(bounds, "measured", measured)
    monkeypatch.setattr(unhidden_time, "collective_time", lambda *_: 1e-4)
    monkeypatch.setattr(search, "simulated", simulated)


@pytest.mark.usefixtures("quick")
def test_an_interrupted_bound_keeps_what_is_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same command measures the rest, and finds what a plan without an interruption does."""
    monkeypatch.chdir(tmp_path)
    real, stops = bounds.measured, [3]
    calls: list[tuple[object, ...]] = []

    def some(*args: object) -> bounds.MicroBatchTimes:
        if len(calls) in stops:
            stops.clear()
            raise KeyboardInterrupt
        calls.append(args)
        return real(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(bounds, "measured", some)
    asked = [*COMMAND, "--json", "--page", "p.html"]
    assert cli.main(asked) == 130
    said = capsys.readouterr()
    assert "interrupted before anything was simulated; what is done is in .mtd-plan.json" in said.err
    assert not said.out and {each.name for each in tmp_path.iterdir()} == {".mtd-plan.json"}
    kept = json.loads(Path(".mtd-plan.json").read_text())
    assert (len(kept["seconds"]), kept["rows"]) == (3, {})
    assert cli.main([*COMMAND, "--json"]) == 0
    resumed, told = capsys.readouterr()
    assert f"{len(calls) // 10 * 10} of " in told or len(calls) < 10
    assert len(calls) == len({args[1:3] for args in calls})  # nothing was measured twice
    assert cli.main([*COMMAND, "--json", "--cache", "anew.json"]) == 0
    assert capsys.readouterr().out == resumed


@pytest.mark.usefixtures("quick")
def test_a_full_disk_does_not_end_a_plan(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It tells once that nothing is kept, and shows the table. Its page cannot be written, which is an error."""
    monkeypatch.chdir(tmp_path)
    Path("p.html").write_text("<!doctype html>of before")

    def full(path: object, data: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(whole_files, "write", full)
    monkeypatch.setattr(plan_page, "page", lambda *_: "<!doctype html>")
    assert cli.main([*COMMAND, "--page", "p.html"]) == 1
    out, told = capsys.readouterr()
    assert told.count(".mtd-plan.json cannot be written (No space left on device)") == 1
    assert "It fits: " in out and "mtd plan: p.html: No space left on device" in told
    assert {each.name: each.read_text() for each in tmp_path.iterdir()} == {"p.html": "<!doctype html>of before"}


@pytest.mark.parametrize(
    ("text", "status", "said"),
    [
        ('{"format": "minitorch_dist plan 3", "rows": {', 2, "is damaged"),
        ('{"format": "minitorch_dist plan 3", "rows": [1]}', 2, "is damaged"),
        ('{"format": "minitorch_dist plan 3", "rows": {}, "seconds": 3}', 2, "is damaged"),
        ('{"format": "minitorch_dist plan 3", "rows": {}, "seconds": {"a": 3}}', 130, "layouts fit"),
        ('{"format": "minitorch_dist plan 1", "rows": {}}', 130, "is of another version"),
        ("", 130, "layouts fit"),
    ],
)
def test_a_file_to_go_on_from(
    text: str,
    status: int,
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(bounds, "measured", interrupt)
    Path(".mtd-plan.json").write_text(text.replace("plan 3", search.FORMAT.removeprefix("minitorch_dist ")))
    before = Path(".mtd-plan.json").read_text()
    assert cli.main(COMMAND) == status
    assert said in capsys.readouterr().err
    assert Path(".mtd-plan.json").read_text() == before


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_file_of_other_plans_is_shared(tmp_path: Path) -> None:
    """Rows that another plan has kept meanwhile stay, and a row that is none is none."""
    layout, here = TrainingLayout(shards=2), cluster("h100", 2, "nvlink8+400G")
    row = search.PlanRow(layout, 1.5, {"parameter": 8.0}, True, {"computing": 1.0}, 3.0, {"within nodes": 6.0})
    one, other = PlanCache(tmp_path / "kept"), PlanCache(tmp_path / "kept")
    keys = [one.key(model, layout, here) for model in (MODEL, MODEL.changed(batch=8))]
    one.keep("rows", keys[0], row.as_dict())
    other.keep("rows", keys[1], row.as_dict())
    other.parts["rows"]["x"] = {"layout": {}, "seconds": "soon"}
    one.keep("seconds", "bound", [0.1, 0.2])
    read = PlanCache(tmp_path / "kept")
    assert read.get("rows", keys[0]) == row == read.get("rows", keys[1])
    one.keep("runs", "run", {"seconds": 0.5})
    assert PlanCache(tmp_path / "kept").get("runs", "run") == {"seconds": 0.5}
    assert read.get("seconds", "bound") == [0.1, 0.2]
    assert other.get("rows", "x") is None and other.get("rows", "y") is None


@pytest.mark.slow
@pytest.mark.usefixtures("small_model")
def test_two_plans_are_compared(planned: Planned, capsys: pytest.CaptureFixture[str]) -> None:
    Path(".mtd-plan.json").write_text(json.dumps(planned.kept))
    for name, more in (("a", []), ("b", ["--straggler", "1:0.5"])):
        assert cli.main([*SMALLER, "--json", *more]) == 0
        Path(f"{name}.json").write_text(capsys.readouterr().out, encoding="utf-8")
    assert cli.main(["diff", "a.json", "a.json"]) == 0
    assert "+0.0% seconds" in capsys.readouterr().out
    assert cli.main(["diff", "a.json", "b.json"]) == 1
    said = capsys.readouterr().out
    assert "2 × B200-SXM" in said and "simulated in both" in said
    assert any(f"{name} +" in said for name in reasons.WORDS)
    assert cli.main([*SMALLER, "--against", "a.json"]) == 0
    assert "Against a.json" in capsys.readouterr().out
    Path("c.json").write_text('{"format": "minitorch_dist plan 4"}', encoding="utf-8")
    assert cli.main(["diff", "a.json", "c.json"]) == 2
    assert "is not a plan" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["llama3-80b", "--gpus", "8"], "perhaps llama3-"),
        (["gpt-small", "--gpus", "0"], "at least one GPU"),
        (["gpt-small", "--gpus", "7"], "no layout of gpt-small divides"),
        (["gpt-small", "--gpus", "7"], "is no multiple of 7 ranks"),
        (["gpt-small", "--gpus", "2", "--straggler", "0:0.5", "--straggler", "0:0.7"], "names rank 0 twice"),
        (["gpt-small", "--gpus", "2", "--mtbf", "3h", "--restart", ""], "--restart: "),
        (["gpt-small", "--gpus", "2", "--page", "no/such.html"], "no/such.html: No such file"),
        (["gpt-small", "--gpus", "2", "--page", "."], "Is a directory"),
        (["gpt-small", "--gpus", "2", "--page", __file__], "is no page, and would be overwritten"),
        (["llama3-405b", "--gpus", "8"], "fits 8 × H100-SXM in none"),
        (["gpt-small", "--gpus", "2", "--straggler", "x"], "like 13:0.8"),
        (["gpt-small", "--gpus", "2", "--mtbf", "soonh"], "like 3h"),
        (["gpt-small", "--gpus", "2", "--against", "none.json"], "is not a plan"),
        (["gpt-small", "--gpus", "2", "--net", "nvlink0+400G"], "a node has at least one GPU"),
        (["gpt-small", "--gpus", "2", "--slower-link", "nan"], "a factor of 1 or more, not nan"),
        (["gpt-small", "--gpus", "2", "--slower-link", "inf"], "a factor of 1 or more, not inf"),
        (["gpt-small", "--gpus", "2", "--straggler", "1:inf"], "speeds above 0"),
        (["gpt-small", "--gpus", "2", "--mtbf", "nanh"], "times of failures are above 0"),
        (["gpt-small", "--gpus", "2", "--mtbf", "infh"], "times of failures are above 0"),
        (["gpt-small", "--gpus", "2", "--mtbf", "1ns"], "a run never ends"),
        (["gpt-small", "--gpus", "2", "--mtbf", "3h", "--saving", "no"], "'no' is not a quantity"),
        (["gpt-small", "--gpus", "2", "--cache", "."], "directory"),
        (["gpt-small", "--gpus", "2", "--cache", __file__], "is no cache of plans"),
        (["gpt-small", "--gpus", "2", "--cache", f"{__file__}/x"], "File exists"),
    ],
)
def test_wrong_words_are_answered_before_anything_runs(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "simulated", None)
    monkeypatch.setenv("COLUMNS", "400")
    assert cli.main(["plan", *words]) == 2
    assert said in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("before", [None, "<!doctype html>of before"])
def test_a_refused_plan_leaves_the_page_as_it_is(
    before: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if before is not None:
        Path("p.html").write_text(before)
    assert cli.main(["plan", "gpt-small", "--gpus", "7", "--page", "p.html"]) == 2
    assert [each.read_text() for each in tmp_path.iterdir()] == ([] if before is None else [before])
