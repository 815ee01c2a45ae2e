"""`profile`: record what a program computes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any

from minitorch_dist.distributed import world
from minitorch_dist.inventory import not_offered
from minitorch_dist.profiler.calls import CallRecorder
from minitorch_dist.profiler.events import Averages, TimedEvent, averaged, write_trace


class ProfilerActivity(Enum):
    """The kind of processor that computes. Here it is always the CPU."""

    CPU = 0
    CUDA = 3


@not_offered.tells_what_is_gone
class profile:
    """Record what this thread computes inside the block. At its end `on_trace_ready(self)` is called."""

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Any = None,
        on_trace_ready: Callable[[profile], Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
    ) -> None:
        if schedule is not None or profile_memory or with_stack or with_flops:
            raise NotImplementedError(
                "schedule, profile_memory, with_stack and with_flops are not offered: open the block around the steps that "
                "shall be recorded. cuda.memory_stats tells of memory, and utils.flop_counter of operations. PyTorch has "
                "them all"
            )
        self.on_trace_ready = on_trace_ready
        self._recorder = CallRecorder(record_shapes)

    def start(self) -> None:
        self._recorder.start()

    def stop(self) -> None:
        """Record no more, and hand over what was recorded."""
        self._recorder.stop()
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    # ------------------------------------------------------------------------------------- results

    def events(self) -> list[TimedEvent]:
        """All events of the recording, by their beginning."""
        return sorted(self._recorder.events, key=lambda event: event.start)

    def key_averages(self) -> Averages:
        """The events of each name together."""
        return averaged(self.events())

    def export_chrome_trace(self, path: str) -> None:
        """Write the events for ui.perfetto.dev or chrome://tracing. The process in it is this rank."""
        here = world.place().world
        rank = int(os.environ.get("RANK", "0")) if here is None else here.rank
        write_trace(str(path), self.events(), rank)
