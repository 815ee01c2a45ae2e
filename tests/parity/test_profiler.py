"""Schedules of the profiler are torch's, and so is what is handed over when."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from minitorch_dist import profiler
from tests.parity.compare import mtd, torch

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]

SHAPES = list(itertools.product((0, 1, 2), (0, 1), (1, 3), (0, 2), (0, 2)))


def test_the_actions_of_all_small_schedules() -> None:
    for wait, warmup, active, repeat, skip in SHAPES:
        how = {
            "wait": wait,
            "warmup": warmup,
            "active": active,
            "repeat": repeat,
            "skip_first": skip,
        }
        for skip_wait in (0, 1):
            ours, theirs = (
                side.schedule(**how, skip_first_wait=skip_wait)
                for side in (profiler, torch.profiler)
            )
            for step in range(16):
                assert ours(step).name == theirs(step).name, (how, skip_wait, step)


@pytest.mark.parametrize("steps", [1, 4, 5, 9])
@pytest.mark.parametrize(("wait", "warmup", "active"), [(1, 1, 2), (0, 0, 2), (0, 1, 1)])
def test_what_is_handed_over_when(wait: int, warmup: int, active: int, steps: int) -> None:
    seen: list[Any] = []
    for t in (torch, mtd):
        handed: list[Any] = []

        def ready(prof: Any, handed: list[Any] = handed) -> None:
            found = {one.key: one.count for one in prof.key_averages()}
            named = {k: n for k, n in found.items() if "Step" in k or k in ("aten::mul", "mine")}
            handed.append((prof.step_num, named))

        when = t.profiler.schedule(wait=wait, warmup=warmup, active=active, repeat=2)
        activities = [t.profiler.ProfilerActivity.CPU]
        with t.profiler.profile(activities=activities, schedule=when, on_trace_ready=ready) as prof:
            for _ in range(steps):
                with t.profiler.record_function("mine"):
                    t.mul(t.ones(2), t.ones(2))
                prof.step()
        seen.append(handed)
    assert seen[0] == seen[1]
