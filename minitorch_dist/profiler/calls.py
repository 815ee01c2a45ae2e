"""The calls of operations, in the thread that asks.

forward       Python itself tells of every call (`sys.setprofile`), and those of operations are kept
backward      the engine tells what runs around a node's gradients
optimizers    hooks around every step
blocks        `record_function`

Nobody pays for it while nothing is recorded. While something is, every Python call costs a little more, so
small operations look slower than they are. In a simulated run times are virtual.
"""

from __future__ import annotations

import functools
import inspect
import sys
from _thread import _local
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from contextvars import ContextVar
from types import CodeType, FrameType
from typing import Any

from minitorch_dist.distributed import world
from minitorch_dist.distributed.torch_api import messages, tensor_collectives
from minitorch_dist.nn import functional
from minitorch_dist.optim import optimizer
from minitorch_dist.profiler.events import TimedEvent
from minitorch_dist.tensors.core import observers
from minitorch_dist.tensors.tensor import Tensor

OPERATIONS = ("minitorch_dist.tensors.ops.", "minitorch_dist.tensors.core.operations")
LEFT_OUT = ("backward", "grad")

_current: ContextVar[CallRecorder | None] = ContextVar("profiler", default=None)


class CallRecorder:
    """Collects events from `start` to `stop`."""

    def __init__(self, record_shapes: bool = False) -> None:
        self.record_shapes = record_shapes
        self.events: list[TimedEvent] = []
        self._open: list[tuple[TimedEvent, FrameType | None]] = []
        self._attached = ExitStack()

    def start(self) -> None:
        if _current.get() is not None:
            raise RuntimeError("Profiler is already enabled on this thread")
        self.events.clear()
        self.names = names_of_operations()
        token = _current.set(self)
        stack = ExitStack()
        stack.callback(_current.reset, token)
        observers.watch("around", self._around, True)
        stack.callback(observers.watch, "around", self._around, False)
        for attach, hook in (
            (optimizer.register_optimizer_step_pre_hook, self._before_step),
            (optimizer.register_optimizer_step_post_hook, self._after_step),
        ):
            stack.callback(attach(hook).remove)
        self._attached = stack
        stack.callback(_listen, -1)
        _listen(+1)

    def stop(self) -> None:
        self._attached.close()
        while self._open:
            self.end()

    # ------------------------------------------------------------------------------------- events

    def begin(
        self, name: str, category: str, shapes: list[list[int]] | None = None, frame: FrameType | None = None
    ) -> TimedEvent:
        event = TimedEvent(name, category, world.place().clock.now(), shapes or [])
        event.depth = len(self._open)
        self.events.append(event)
        self._open.append((event, frame))
        return event

    def end(self) -> None:
        event, _ = self._open.pop()
        event.end = world.place().clock.now()
        if self._open:
            self._open[-1][0].inside += event.end - event.start

    def end_until(self, event: TimedEvent) -> None:
        """End `event`, and what an exception has left open inside."""
        while any(each is event for each, _ in self._open):
            self.end()

    # ------------------------------------------------------------------------ what tells of events

    def called(self, frame: FrameType, what: str) -> None:
        """Python calls a function, or it returns."""
        if what == "call":
            name = self.names.get(frame.f_code)
            if name is not None:
                if name == IN_PLACE:
                    name = f"aten::{frame.f_locals['operation'].__name__}_"
                shapes = _shapes(frame) if self.record_shapes else None
                self.begin(name, "cpu_op", shapes, frame)
        elif what == "return" and self._open and self._open[-1][1] is frame:
            self.end()

    def _around(self, node: Any, execute: observers.Execute) -> observers.Execute:
        def timed(grads: Sequence[Any]) -> Sequence[Any]:
            if _current.get() is not self:
                return execute(grads)
            event = self.begin(node.name(), "cpu_op")
            try:
                return execute(grads)
            finally:
                self.end_until(event)

        return timed

    def _before_step(self, stepping: Any, *_: Any) -> None:
        if _current.get() is self:
            name = f"Optimizer.step#{type(stepping).__name__}.step"
            self._stepping = self.begin(name, "user_annotation")

    def _after_step(self, *_: Any) -> None:
        if _current.get() is self:
            self.end_until(self._stepping)


# ------------------------------------------------------------------------------ what Python tells

# Ranks of a simulation share a thread, so there is one function for all: it asks whose call it was.
_listening = _local()  # of a thread of the system, also in a rank of a simulation


def _called(frame: FrameType, what: str, _: Any) -> None:
    recorder = _current.get()
    if recorder is not None:
        recorder.called(frame, what)


def _listen(by: int) -> None:
    """One more, or one less, of this thread's ranks wants to be told of calls."""
    _listening.count = getattr(_listening, "count", 0) + by
    sys.setprofile(_called if _listening.count else None)


class record_function:
    """A block, or a function, with a name in the recording.

    with record_function("a step"): …
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args = name, args
        self._event: TimedEvent | None = None

    def __enter__(self) -> record_function:
        recorder = _current.get()
        if recorder is not None:
            self._event = recorder.begin(self.name, "user_annotation")
        return self

    def __exit__(self, *error: object) -> None:
        recorder = _current.get()
        if recorder is not None and self._event is not None:
            recorder.end_until(self._event)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def named(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name):
                return function(*args, **kwargs)

        return named


# ------------------------------------------------------------------------------------------- names

IN_PLACE = "in place"  # the form of many operations: the frame says of which


@functools.cache
def names_of_operations() -> dict[CodeType, str]:
    """The public operations, as torch names them."""
    found: dict[CodeType, set[str]] = {}
    everything = sys.modules["minitorch_dist"]  # the names on top; it imports all floors
    for home in (Tensor, everything, functional):
        for name, function in inspect.getmembers(home, inspect.isfunction):
            is_one = function.__module__.startswith(OPERATIONS) and name not in LEFT_OUT
            if is_one and not name.startswith("__"):
                code = inspect.unwrap(function).__code__
                found.setdefault(code, set()).add(f"aten::{function.__name__}")
    for room in (tensor_collectives, messages):
        for name, function in inspect.getmembers(room, inspect.isfunction):
            if function.__module__ == room.__name__ and not name.startswith("_"):
                code = inspect.unwrap(function).__code__
                found.setdefault(code, set()).add(f"c10d::{function.__name__}")
    named = {code: next(iter(names)) for code, names in found.items() if len(names) == 1}
    return named | {code: IN_PLACE for code in found if code.co_name == "write_result"}


def _shapes(frame: FrameType) -> list[list[int]]:
    code = frame.f_code
    given = (frame.f_locals.get(name) for name in code.co_varnames[: code.co_argcount])
    return [list(one.shape) if isinstance(one, Tensor) else [] for one in given]
