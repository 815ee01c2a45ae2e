"""All of one instant in one go is what it is message by message."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minitorch_dist import sim
from minitorch_dist.distributed import schedules
from minitorch_dist.distributed.schedules import batched_overtaking, overtaking
from minitorch_dist.distributed.schedules.ports import PortTimes
from minitorch_dist.distributed.schedules.schedule import Schedule, ScheduleError
from minitorch_dist.distributed.schedules.steps import Receive, Send, Steps
from minitorch_dist.sim import topology_links
from minitorch_dist.sim.fast.batched_engine import TOGETHER

MEETING = [s for s in schedules.BUILT_IN.values() if s.collective in TOGETHER]


def nets(size: int) -> list[Any]:
    near, far = sim.link("1us", "1GB/s"), sim.link("5us", "100Mb/s", "2us")
    return [
        sim.uniform("5us", "100Gb/s"),
        sim.uniform("1us", "100Gb/s", "3us"),
        sim.uniform(0, 0),
        sim.two_level(-(-size // 3), 3, near, far),
    ]


@pytest.mark.parametrize("schedule", MEETING, ids=str)
def test_by_instants_is_message_by_message(schedule: Schedule) -> None:
    random = np.random.default_rng(len(schedule.name))
    for size in (2, 3, 5, 8, 13):
        sizes = schedule.sizes(size, 7) * 4
        for net in nets(size):
            links = topology_links.wires_of(net, range(size), int(random.choice([0, 30])))
            assert links is not None
            for entry in (
                np.zeros(size, np.int64),
                random.integers(0, 3, size) * 10**6,
                random.integers(0, 10**7, size),
            ):
                tx, rx = random.integers(0, 3, (2, size)) * 10**6
                one = overtaking.play(schedule, sizes, links, PortTimes(entry, tx, rx))
                other = batched_overtaking.play(schedule, sizes, links, PortTimes(entry, tx, rx))
                for found, wanted in zip(other, one, strict=True):
                    np.testing.assert_array_equal(found, wanted)


def deaf(rank: Any, size: int) -> Steps:
    yield Send(to=(rank + 1) % size, chunks=0)
    yield Receive(source=(rank + 1) % size, chunks=0)


def crossed(rank: Any, size: int) -> Steps:
    yield Receive(source=(rank - 1) % size, chunks=0)
    yield Send(to=(rank + 1) % size, chunks=0)


@pytest.mark.parametrize("steps", [deaf, crossed])
def test_what_stands_still_is_refused(steps: Any) -> None:
    links = topology_links.wires_of(sim.uniform("5us", "100Gb/s"), range(3))
    assert links is not None
    nothing = np.zeros(3, np.int64)
    schedule = Schedule("all_reduce", "mine", steps)
    with pytest.raises(ScheduleError):
        batched_overtaking.play(schedule, np.full(3, 4), links, PortTimes(nothing, nothing, nothing))
