"""`profile`: record a program, all of it or the steps that a schedule chooses."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from enum import Enum
from pathlib import Path
from typing import Any

from minitorch_dist.distributed import world
from minitorch_dist.profiler.events import Averages, TimedEvent, averaged, write_trace
from minitorch_dist.profiler.recording import CallRecorder, record_function
from minitorch_dist.profiler.schedules import ProfilerAction

RECORDING = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


class ProfilerActivity(Enum):
    """The kind of processor that computes. Here it is always the CPU."""

    CPU = 0
    CUDA = 3


class profile:
    """Record what this thread computes inside the block.

    With a `schedule` the program calls `step()` after each of its steps, and `on_trace_ready(self)`
    is called whenever the recorded steps of a circle are over.
    """

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[profile], Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
    ) -> None:
        if profile_memory or with_stack or with_flops:
            raise NotImplementedError(
                "profile_memory, with_stack and with_flops are not offered: cuda.memory_stats tells of memory, and "
                "utils.flop_counter of operations. PyTorch has them all"
            )
        self._schedule, self.on_trace_ready = schedule, on_trace_ready
        self.record_shapes = record_shapes
        self.step_num = 0
        self._recorder: CallRecorder | None = None
        self._is_on = False
        self._step: record_function | None = None

    # ------------------------------------------------------------------------------- from, to, step

    @property
    def current_action(self) -> ProfilerAction:
        if self._schedule is None:
            return ProfilerAction.RECORD_AND_SAVE
        return self._schedule(self.step_num)

    def start(self) -> None:
        if not self._is_on and self.current_action in RECORDING:
            self._recorder = CallRecorder(self.record_shapes)
            self._recorder.start()
            self._is_on = True
        if self._is_on and self._schedule is not None:
            self._step = record_function(f"ProfilerStep#{self.step_num}")
            self._step.__enter__()

    def stop(self) -> None:
        """Record no more, and hand over what was recorded."""
        self._leave_step()
        self._hand_over()

    def step(self) -> None:
        """The next step of the program begins."""
        before = self.current_action
        self._leave_step()
        self.step_num += 1
        if before is ProfilerAction.RECORD_AND_SAVE or self.current_action not in RECORDING:
            self._hand_over()
        self.start()

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def _leave_step(self) -> None:
        if self._step is not None:
            self._step.__exit__()
            self._step = None

    def _hand_over(self) -> None:
        if self._is_on and self._recorder is not None:
            self._recorder.stop()
            self._is_on = False
            if self.on_trace_ready is not None:
                self.on_trace_ready(self)

    # ------------------------------------------------------------------------------------- results

    def events(self) -> list[TimedEvent]:
        """All events of the last recording, by their beginning."""
        if self._recorder is None:
            raise RuntimeError("the profiler has recorded nothing yet")
        return sorted(self._recorder.events, key=lambda event: event.start)

    def key_averages(self) -> Averages:
        """The events of each name together."""
        return averaged(self.events())

    def export_chrome_trace(self, path: str) -> None:
        """Write the events for ui.perfetto.dev or chrome://tracing."""
        write_trace(str(path), self.events(), self._rank())

    def _rank(self) -> int:
        """The rank in the world, or else the one that the launcher gave."""
        here = world.place().world
        return int(os.environ.get("RANK", "0")) if here is None else here.rank


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None
) -> Callable[[profile], None]:
    """For `on_trace_ready`: a trace in `dir_name` for each time the profiler hands over."""

    def handler(prof: profile) -> None:
        folder = Path(dir_name)
        folder.mkdir(parents=True, exist_ok=True)
        worker = worker_name or f"rank{prof._rank()}"
        prof.export_chrome_trace(str(folder / f"{worker}.{prof.step_num}.pt.trace.json"))

    return handler
