"""The attachment by which ranks write timelines: `sim.run(…, with_=[sim.timelines()])`, or `timelines=True`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from minitorch_dist.distributed.world import World
from minitorch_dist.sim.attachments import OneOfItsKind, RunPart
from minitorch_dist.sim.stage import SimulationStage
from mtd.timelines.recorder import TimelineRecorder
from mtd.timelines.roles import Timelines
from mtd.timelines.timeline import RankTimeline


@dataclass(frozen=True)
class WithTimelines(OneOfItsKind):
    """The report has what each rank did and when (`Report.timelines`, `Report.save_page`).

    Example:
        >>> report = sim.run(dist.barrier, 2, with_=[sim.timelines()])
        >>> report.timelines is not None
        True
    """

    kind = "timelines"

    def __call__(self, stage: SimulationStage) -> RunPart:
        return TimelinePart(stage)


class TimelinePart(RunPart):
    def __init__(self, stage: SimulationStage) -> None:
        self.clock = stage.clock
        self.lines = tuple(RankTimeline(rank) for rank in range(stage.world_size))
        stage.entered.append(self.enter)

    def enter(self, here: World) -> None:
        devices = self.clock.devices
        here.mailbox.recorder = TimelineRecorder(self.lines[here.rank], here.clock.now, devices)

    @contextmanager
    def around_rank(self, rank: int) -> Iterator[None]:
        try:
            yield
        finally:
            self.lines[rank].end = self.clock.now()

    def of_run(self) -> dict[str, Any]:
        return {"timelines": Timelines(self.lines)}
