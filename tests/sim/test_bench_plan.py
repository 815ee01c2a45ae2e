"""`mtd bench plan`: what it predicts, and which turns count."""

from __future__ import annotations

import os

import pytest

from minitorch_dist.sim.device import Device
from mtd import device_calibration
from mtd.cli.bench import __main__ as bench, plan, plan_model, plan_quiet
from mtd.cli.bench.plan_model import FREE_WIRE, WireCosts, WrapperCosts
from mtd.cli.bench.plan_quiet import PlanTurn
from mtd.cli.bench.steps import THIN, TINY

FAST = Device("fast", {"float32": 2e12}, 1e12)
SLOW = Device("slow", {"float32": 1e12}, 5e11, half=10.0)
WIRE = WireCosts(1e-6, 1e-10, 5e-11)
WRAPPER = WrapperCosts(1e-6, {})


@pytest.fixture(autouse=True)
def one_core_a_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 1)


@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("way", plan.WAYS)
def test_a_slower_device_or_wire_makes_a_longer_step(way: str, ranks: int) -> None:
    step = plan_model.predicted("mlp", way, ranks, WIRE, FAST, WRAPPER)
    assert step == plan_model.predicted("mlp", way, ranks, WIRE, FAST, WRAPPER) > 0
    assert plan_model.predicted("mlp", way, ranks, WIRE, SLOW, WRAPPER) > step
    worse = WIRE._replace(per_byte=1e-9)
    later = plan_model.predicted("mlp", way, ranks, worse, FAST, WRAPPER)
    assert later > step if ranks > 1 else later == step


@pytest.mark.parametrize("way", plan.WAYS)
def test_on_one_core_nothing_hides_a_message(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The step is as long as computing and messages are, each alone; with more cores it is no longer than that."""
    step = plan_model.predicted("mlp", way, 2, WIRE, FAST, WRAPPER)
    alone = plan_model.predicted("mlp", way, 2, FREE_WIRE, FAST, WRAPPER)
    twice = WireCosts(*(2 * each for each in WIRE))
    slower = plan_model.predicted("mlp", way, 2, twice, FAST, WRAPPER)
    assert slower - alone == pytest.approx(2 * (step - alone), rel=1e-3)
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    assert plan_model.predicted("mlp", way, 2, WIRE, FAST, WRAPPER) <= step


def test_several_measurements_of_a_device_are_one_by_their_means() -> None:
    fast = Device("fast", {"float32": 2e12}, 1e12, launch=1_000)
    slow = Device("slow", {"float32": 1e12}, 5e11, launch=3_000, half=10.0)
    assert device_calibration.mean([fast]) == fast
    both = device_calibration.mean([fast, slow])
    assert both.peak == {"float32": 1_500_000_000_000}
    assert (both.bandwidth, both.launch, both.half) == (pytest.approx(7.5e11), 2_000, 5.0)


@pytest.mark.parametrize("ranks", [2, 3, 5, 8])
def test_a_wire_is_found_again_from_the_collectives_that_it_makes(ranks: int) -> None:
    times = {}
    for nbytes in plan_model.SIZES:
        moved = nbytes * (ranks - 1) / ranks
        gather = (ranks - 1) * WIRE.latency + moved * WIRE.per_byte
        times["all_gather", nbytes] = gather
        times["reduce_scatter", nbytes] = gather + moved * WIRE.per_added
    assert plan_model.fit_wire(times, ranks) == pytest.approx(WIRE)


@pytest.mark.parametrize("way", plan.WAYS)
def test_a_wrapper_is_found_again_from_the_steps_that_it_makes(way: str) -> None:
    sizes = [plan_model.layer_bytes(model)[0] for model in THIN]
    truth = WrapperCosts(2e-5, dict(zip(sizes, (1e-9, 2e-9, 3e-9), strict=True)))
    models = [TINY, *THIN]
    bare, alone = truth._replace(copying={}), WrapperCosts(1e-6, {})
    steps = {
        model: plan_model.predicted(model, way, 2, WIRE, FAST, bare if model == TINY else truth) for model in models
    }
    plain = {model: plan_model.predicted(model, "plain", 2, FREE_WIRE, FAST, alone) for model in models}
    found = plan_model.fit_wrapper(way, 2, WIRE, FAST, steps, plain)
    assert found.launch == pytest.approx(truth.launch, rel=1e-3)
    assert found.copying == pytest.approx(truth.copying, rel=0.02)


def test_copying_lies_between_that_of_the_next_sizes() -> None:
    wrapper = WrapperCosts(0.0, {100: 1.0, 10_000: 3.0})
    assert wrapper.copies([1_000]) == pytest.approx(2_000)
    assert wrapper.copies([10, 100_000]) == pytest.approx(10 + 300_000)


def test_turns_that_other_work_disturbed_do_not_count() -> None:
    turns = [PlanTurn(others, others * 10) for others in (0.05, 0.5, 0.01, 0.0, 0.9, 0.02)]
    assert plan_quiet.quiet(turns) == pytest.approx([0.0, 0.1, 0.2, 0.5])
    worse = [PlanTurn(turn.others + 0.2, turn.step) for turn in turns]
    assert plan_quiet.quiet(worse) == pytest.approx([0.0, 0.1, 0.2])  # the quietest that there were


def test_the_quietest_of_some_calls_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    shares = iter([0.5, 0.2, 0.4, 0.3, 0.01])
    monkeypatch.setattr(plan_quiet.OtherLoad, "share", lambda load: next(shares))
    results = iter("abcde")
    assert plan_quiet.quietest(lambda: next(results)) == "b"
    assert plan_quiet.quietest(lambda: next(results)) == "e"  # quiet at once


def test_a_prediction_of_twice_the_time_is_off_by_all_of_it() -> None:
    cell = plan.Cell("mlp", "ddp", "tcp", 2.0, 1.0)
    assert cell.off == 1
    assert cell._replace(predicted=0.75).off == -0.25


@pytest.mark.parametrize("word", ["--rounds", "--ranks"])
def test_a_wrong_number_is_refused_at_once(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as error:
        bench.main("plan", [word, "0"])
    assert error.value.code == 2
    assert f"{word}: must be at least 1, got 0" in capsys.readouterr().err
