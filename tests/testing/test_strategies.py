"""What the strategies draw is what they say: correct schedules are, broken ones are found, plans run."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given, settings

import minitorch_dist as mtd
import minitorch_dist.distributed as dist
from minitorch_dist import sim
from minitorch_dist.distributed.schedules import Schedule, proof
from minitorch_dist.testing import strategies
from tests.testing.broken import broken_schedules


@given(strategies.schedules(), strategies.sizes())
def test_correct_schedules_are_proved(schedule: Schedule, size: int) -> None:
    assert proof.examine(schedule, size) == []


@given(broken_schedules(size=4))
def test_broken_schedules_are_found(schedule: Schedule) -> None:
    assert proof.examine(schedule, 4)
    assert proof.examine(schedule, 5) == []  # only what was said is broken


def summed(vector: Any) -> Any:
    tensor = mtd.tensor(vector.tolist(), dtype=mtd.int64)
    dist.all_reduce(tensor)
    return tensor.numpy()


@settings(max_examples=20)
@given(strategies.worlds(), strategies.arrays((7,), [np.int64]))
def test_worlds_run(world: strategies.WorldCase, vector: Any) -> None:
    report = sim.run(summed, world.size, (vector,), net=world.net)
    for found in report.results:
        assert (found == world.size * vector).all()


@settings(max_examples=20)
@given(strategies.fault_plans(3))
def test_a_reliable_transport_bears_the_faults(plan: Any) -> None:
    vector = np.arange(5)
    for found in sim.run(summed, 3, (vector,), faults=plan).results:
        assert (found == 3 * vector).all()


@given(strategies.tensors())
def test_tensors_are_of_every_kind(tensor: Any) -> None:
    assert tensor.dtype in (mtd.float32, mtd.float64, mtd.float16, mtd.int64, mtd.int32, mtd.uint8)
    assert tensor.shape == tensor.contiguous().shape


def test_the_page_shows_the_signatures_as_they_are() -> None:
    page = (Path(__file__).parents[2] / "docs" / "testing.md").read_text("utf-8")
    names = [
        "worlds", "sizes", "networks", "shapes", "arrays", "tensors", "counts", "schedules", "faults", "fault_plans",
    ]  # fmt: skip
    for name in names:
        found = inspect.signature(getattr(strategies, name)).parameters.values()
        shown = []
        for one in found:
            if one.name == "draw":
                continue
            default = "DTYPES" if one.default is strategies.DTYPES else repr(one.default)
            shown.append(one.name if one.default is one.empty else f"{one.name}={default}")
        assert f"| `{name}({', '.join(shown)})` |" in page, name
