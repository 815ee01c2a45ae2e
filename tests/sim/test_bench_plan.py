"""`mtd bench plan`: what it predicts, and what it calls the difference."""

from __future__ import annotations

from fractions import Fraction

import pytest

from minitorch_dist.cli.bench import plan, plan_overlap
from minitorch_dist.sim import calibration, device_calibration
from minitorch_dist.sim.device import Device
from transports.clock import PICO

FAST = Device("fast", {"float32": 2e12}, 1e12, launch=1_000)
SLOW = Device("slow", {"float32": 1e12}, 5e11, launch=3_000, half=10.0)
COSTS = calibration.Costs(1e6, 100.0, per_added=50.0)
LINKS = calibration.Fit(1_000_000, Fraction(100), {}, COSTS)


@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("way", plan.WAYS)
def test_a_slower_device_or_wire_makes_a_longer_step(way: str, ranks: int) -> None:
    step = plan.predicted("mlp", way, ranks, LINKS, FAST)
    assert step == plan.predicted("mlp", way, ranks, LINKS, FAST) > 0
    assert plan.predicted("mlp", way, ranks, LINKS, SLOW) > step
    worse = LINKS._replace(costs=COSTS._replace(per_byte=1000.0))
    later = plan.predicted("mlp", way, ranks, worse, FAST)
    assert later > step if ranks > 1 else later == step


def test_several_measurements_of_a_device_are_one_by_their_means() -> None:
    assert device_calibration.mean([FAST]) == FAST
    both = device_calibration.mean([FAST, SLOW])
    assert both.peak == {"float32": 1_500_000_000_000}
    assert (both.bandwidth, both.launch, both.half) == (pytest.approx(7.5e11), 2_000, 5.0)


def test_ranks_that_share_a_core_send_as_slowly_as_they_were_seen_to() -> None:
    shared = LINKS._replace(costs=COSTS._replace(cores=0.5))
    slow = COSTS._replace(latency=4e6, per_byte=400.0, per_added=200.0)
    found = [
        plan.predicted("mlp", "ddp", 2, each, FAST) for each in (shared, LINKS._replace(costs=slow))
    ]
    assert found[0] == found[1]


@pytest.mark.parametrize("way", plan.WAYS)
def test_the_launch_is_the_one_with_which_a_tiny_step_takes_what_it_took(way: str) -> None:
    known = plan.Known(LINKS, [FAST, SLOW], [1.0, 3.0, 2.0], [0.004, 0.002, 0.003], way, 2)
    device = known.device
    assert device.contention == 2.0
    assert plan.predicted(plan.TINY, way, 2, LINKS, device) == pytest.approx(0.003, rel=0.02)


def test_an_interval_holds_its_prediction_and_is_wider_where_measurements_differ(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def seconds(model: str, way: str, ranks: int, links: calibration.Fit, device: Device) -> float:
        return (links.costs.latency + 100 * device.launch) / PICO

    monkeypatch.setattr(plan, "predicted", seconds)
    links = LINKS._replace(draws=(COSTS, COSTS._replace(latency=2e6)))
    found = [
        plan.Known(links, [FAST], [1.0], tiny, "ddp", 2).predict("mlp")
        for tiny in ([0.003] * 5, [0.002, 0.003, 0.004])
    ]
    for middle, low, high in found:
        assert low <= middle <= high
    assert found[0] == plan.Known(links, [FAST], [1.0], [0.003] * 5, "ddp", 2).predict("mlp")
    assert found[1][2] - found[1][1] > found[0][2] - found[0][1]


def test_turns_that_other_work_made_slow_do_not_count() -> None:
    turns = [plan.PlanTurn(gauge, gauge * 10) for gauge in (1.0, 2.0, 1.1, 1.05, 3.0, 1.14)]
    assert plan.quiet(turns, 1.0) == pytest.approx([10.0, 10.5, 11.0, 11.4])
    assert plan.quiet(turns, 0.5) == [10.0, 10.5, 11.0]  # the quietest that there were


def test_a_prediction_of_twice_the_time_is_off_by_all_of_it() -> None:
    cell = plan.Cell("mlp", "ddp", "tcp", 2.0, 1.5, 2.5, [1.0, 0.9, 3.0])
    assert cell.measured == 1.0 and cell.off == 1 and not cell.is_inside
    assert cell._replace(predicted=0.75, low=0.5).off == -0.25
    assert cell._replace(predicted=0.75, low=0.5).is_inside


def test_contention_explains_what_was_measured() -> None:
    """Products that take W alone take κ times as long for C: then C + W - C / κ in all."""
    for alone, collective, factor in ((5.0, 3.0, 2.0), (4.0, 4.0, 1.25), (9.0, 1.0, 8.0)):
        both = collective + alone - collective / factor
        assert plan_overlap.contention(alone, collective, both) == pytest.approx(factor)
    assert plan_overlap.contention(1.0, 1.0, 2.5) == plan_overlap.MOST  # nothing was hidden
    assert plan_overlap.contention(3.0, 1.0, 2.5) == 1.0  # faster than alone, by chance


def test_contention_is_measured_between_ranks() -> None:
    assert plan_overlap.measure("queue://", 1) == [1.0]
    found = plan_overlap.measure("queue://", 2)
    assert len(found) == plan_overlap.TURNS
    assert all(1.0 <= each <= plan_overlap.MOST for each in found)
