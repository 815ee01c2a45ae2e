"""The device of a rank that replays: operations that follow each other are one wait, where nothing can slow some of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from minitorch_dist.distributed import world
from minitorch_dist.sim.device_time import ComputeStream, DeviceUse, Rows
from minitorch_dist.sim.module_names import Names
from minitorch_dist.sim.power import slowed
from mtd.timelines.recorder import TimelineRecorder
from mtd.timelines.timeline import Together
from transports.quantities import in_words
from transports.virtual.clock import VirtualClock

Operations = Sequence[tuple[str, int, Names]]
"""Of one rank: names, picoseconds at full speed, modules."""


class OperationsTogether:
    """Operations that follow each other at full speed: how long all of them take, by name and by module."""

    def __init__(self, operations: Operations) -> None:
        self.picos = sum(picos for _, picos, _ in operations)
        self.by_name: dict[str, tuple[int, int]] = {}
        self.by_module: dict[str, int] = {}
        for name, picos, modules in operations:
            count, total = self.by_name.get(name, (0, 0))
            self.by_name[name] = count + 1, total + picos
            for module in modules:
                self.by_module[module] = self.by_module.get(module, 0) + picos

    def __repr__(self) -> str:
        return f"<{sum(count for count, _ in self.by_name.values())} operations, {in_words(self.picos)}>"


class ReplayedStream(ComputeStream):
    """It goes on where the stream `before` stands."""

    def __init__(self, before: ComputeStream) -> None:
        super().__init__(before.device, before.rank, before.clock)
        self.busy, self.moving = before.busy, before.moving
        self._whole: dict[OperationsTogether, int] = {}  # how many times each was done at once

    def compute_all(self, operations: Operations, together: OperationsTogether) -> None:
        """Be busy with operations that follow each other."""
        here, at = world.place().world, 0
        while at < len(operations):
            if self._is_slowed_by_messages(here):
                self.compute(*operations[at])
                at += 1
                continue
            now = self.clock.now()
            start = self.free = max(now, self.free)
            if at == 0 and is_at_full_speed(self.clock, self.rank):
                self.free += together.picos
                self._whole[together] = self._whole.get(together, 0) + 1
            else:
                for name, picos, modules in operations[at:]:
                    self._count(name, slowed(self.clock, picos), modules)
            self.busy.add(start, self.free)
            recorder = None if here is None else here.mailbox.recorder
            if self.free > start and isinstance(recorder, TimelineRecorder):
                recorder.line.program.append(Together(start, self.free, operations[at:]))
            return self.clock.pause(self.free - now)

    def did(self, operations: Mapping[OperationsTogether, int], busy: Rows, moving: Rows) -> None:
        """It has done these so often, and was busy then; messages moved."""
        for together, times in operations.items():
            self._whole[together] = self._whole.get(together, 0) + times
        self.busy.add_all(busy)
        self.moving.add_all(moving)

    def use(self, end: int) -> DeviceUse:
        """Operations that were done together are counted when somebody asks."""
        for together, times in self._whole.items():
            for name, (count, total) in together.by_name.items():
                before, so_far = self.operations.get(name, (0, 0))
                self.operations[name] = before + times * count, so_far + times * total
            for module, picos in together.by_module.items():
                self.modules[module] = self.modules.get(module, 0) + times * picos
        self._whole.clear()
        return super().use(end)


def is_at_full_speed(clock: VirtualClock, rank: int) -> bool:
    """Whether `slowed` changes nothing on this rank, and nobody watches it."""
    power, moving = clock.power, clock.medium
    is_even = power is None or power.speeds.get(rank, 1.0) == 1.0
    return is_even and (moving is None or (moving.injector is None and moving.witness is None))
