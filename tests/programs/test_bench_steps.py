"""The training steps that `mtd bench nn` times do run, and learn what they are given."""

from __future__ import annotations

import math

import pytest

import minitorch_dist
from mtd.cli.bench.steps import STEPS

QUICK = [name for name in STEPS if name not in ("resnet50", "dcgan")]


@pytest.mark.parametrize("name", QUICK)
def test_a_step_has_a_loss_that_is_a_number(name: str) -> None:
    minitorch_dist.manual_seed(0)
    step = STEPS[name][0](minitorch_dist)
    assert math.isfinite(step().item())
