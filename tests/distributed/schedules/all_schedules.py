"""Every built-in schedule, and the roots worth trying."""

from __future__ import annotations

import pytest

from minitorch_dist.distributed.schedules import BUILT_IN, Schedule
from minitorch_dist.distributed.schedules.schedule import ROOTED

ALL = [*BUILT_IN.values()] + [
    BUILT_IN["broadcast", "chain"].with_options(pieces=1),
    BUILT_IN["reduce", "chain"].with_options(pieces=3),
    BUILT_IN["all_reduce", "double_binary_tree"].with_options(pieces=1),
    BUILT_IN["all_reduce", "hierarchical"].with_options(per_node=2),
    BUILT_IN["all_reduce", "hierarchical"].with_options(per_node=3),
    BUILT_IN["broadcast", "hierarchical"].with_options(per_node=4),
]
every_schedule = pytest.mark.parametrize("schedule", ALL, ids=str)


def roots(schedule: Schedule, size: int) -> list[int | None]:
    return [*sorted({0, size // 2, size - 1})] if schedule.collective in ROOTED else [None]
