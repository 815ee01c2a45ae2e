"""`mtd bench plan`: what it predicts, and what it calls the difference."""

from __future__ import annotations

from fractions import Fraction

import pytest

from minitorch_dist.cli.bench import plan
from minitorch_dist.sim import calibration, device_calibration
from minitorch_dist.sim.device import Device

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
    worse = LINKS._replace(per_byte=Fraction(1000))
    later = plan.predicted("mlp", way, ranks, worse, FAST)
    assert later > step if ranks > 1 else later == step


def test_several_measurements_of_a_device_are_one_by_their_means() -> None:
    assert device_calibration.mean([FAST]) == FAST
    both = device_calibration.mean([FAST, SLOW])
    assert both.peak == {"float32": 1_500_000_000_000}
    assert (both.bandwidth, both.launch, both.half) == (pytest.approx(7.5e11), 2_000, 5.0)


def test_a_prediction_of_twice_the_time_is_off_by_all_of_it() -> None:
    assert plan.Cell("mlp", "ddp", "tcp", 2.0, 1.0).off == 1
    assert plan.Cell("mlp", "ddp", "tcp", 0.75, 1.0).off == -0.25
