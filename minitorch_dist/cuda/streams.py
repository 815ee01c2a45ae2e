"""Streams and events, for programs that order their work by them.

Here every operation is finished when its call returns, so all streams are always in step: waiting
returns at once and every query says yes. Events take the time when they are recorded, so that
`start.elapsed_time(end)` measures what it measures on a GPU.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from minitorch_dist.cuda.current import index_of
from minitorch_dist.tensors import pools
from minitorch_dist.tensors.devices import device as Device

_ids = itertools.count(1)


class Stream:
    """A queue of work on one device. Equal if device and number are."""

    def __init__(
        self, device: Device | str | int | None = None, priority: int = 0, *, stream_id: int | None = None
    ) -> None:
        self.device_index = index_of(device)
        self.device = Device("cuda", self.device_index)
        self.priority = priority
        self.stream_id = next(_ids) if stream_id is None else stream_id

    @property
    def cuda_stream(self) -> int:
        return self.stream_id

    def wait_event(self, event: Event) -> None:
        """Later work of this stream comes after `event`: it does anyway."""

    def wait_stream(self, stream: Stream) -> None:
        """Later work of this stream comes after that of `stream`: it does anyway."""

    def record_event(self, event: Event | None = None) -> Event:
        event = Event() if event is None else event
        event.record(self)
        return event

    def query(self) -> bool:
        return True

    def synchronize(self) -> None:
        """Returns at once."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and (self.device, self.stream_id) == (other.device, other.stream_id)

    def __hash__(self) -> int:
        return hash((self.device, self.stream_id))


class Event:
    """A mark in a stream. With `enable_timing` two marks tell the milliseconds between them."""

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> None:
        index_of()  # raises where there are no devices
        self.enable_timing = enable_timing
        self._recorded_at: float | None = None

    def record(self, stream: Stream | None = None) -> None:
        self._recorded_at = time.perf_counter()

    def wait(self, stream: Stream | None = None) -> None:
        """Returns at once."""

    def query(self) -> bool:
        return True

    def synchronize(self) -> None:
        """Returns at once."""

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this event to `end_event`."""
        if not (self.enable_timing and end_event.enable_timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self._recorded_at is None or end_event._recorded_at is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        return (end_event._recorded_at - self._recorded_at) * 1000


# ------------------------------------------------------------------------------ the current stream

_current: ContextVar[dict[int, Stream]] = ContextVar("current stream")


def default_stream(device: Device | str | int | None = None) -> Stream:
    return Stream(device, stream_id=0)


def current_stream(device: Device | str | int | None = None) -> Stream:
    """The stream that new work of this thread on `device` goes to."""
    index = index_of(device)
    return _current.get({}).get(index) or default_stream(index)


def set_stream(stream: Stream | None) -> None:
    """Make a stream, and its device, the current one of this thread."""
    if stream is not None:
        _current.set({**_current.get({}), stream.device_index: stream})
        pools.set_current(stream.device_index)


@contextmanager
def stream(stream: Stream | None) -> Iterator[None]:
    """Make a stream, and its device, the current one inside a block; None changes nothing."""
    if stream is None:
        yield
        return
    device, before = pools.current(), current_stream(stream.device)
    set_stream(stream)
    try:
        yield
    finally:
        set_stream(before)
        pools.set_current(device)
