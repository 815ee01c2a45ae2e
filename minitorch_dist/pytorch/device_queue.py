"""The work that a rank's device has still to do. A program hands work to a GPU and goes on; so it does here, where tensors have
no numbers and the device takes time.

    stream of computing     op  op  op  op ── wait(work) ── op …        in the program's order
    FSDP2's other streams        └ begin(all_gather)                    as early as their events allow

The program runs ahead, and nothing takes time. A collective on another stream than that of computing is put where the events
are that it waits for. That may be far before the operations that came last. `flush` does all in this order: when the
program asks for a number or synchronizes, and at its end. So a gathering that is prefetched moves beside computing, as on a GPU.

One stream computes. The copies in and out that other ones compute take time on it too, at their place in its order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Final

import torch
from torch._subclasses.fake_tensor import FakeTensor

from minitorch_dist.distributed import callsite, world
from minitorch_dist.pytorch.errors import torch_errors
from minitorch_dist.pytorch.replacing import replaced

NAME: Final = "device queue"


class BegunLater:
    """An operation of a group that the device will begin. `wait` is called when all before it was done."""

    def __init__(self, group: Any, begin: Callable[[], Any]) -> None:
        self.group, self._begin = group, begin
        self._work: Any = None
        self.is_over, self._site = False, callsite.callsite()

    def begin(self) -> None:
        with callsite.standing_at(self._site):
            self._work = self._begin()

    def wait(self) -> None:
        work, self._work = self._work, None
        if work is not None:
            work.wait()

    def is_completed(self) -> bool:
        return self._work is None or bool(self._work.is_completed())


class DeviceQueue:
    """Of one rank. Entries have places: the number of the entry of the computing stream after which they come, and a
    number of their own."""

    def __init__(self) -> None:
        self.computing = QueueStream()
        self.current = self.computing
        self.number = self.handed = 0
        self._entries: list[tuple[int, int, Callable[[], Any]]] = []
        self._latest: dict[Any, int] = {}  # by group: the place of what it begins last

    def put(self, act: Callable[[], Any]) -> None:
        """Let the current stream do it."""
        self._put(self._place(), act)

    def _place(self) -> int:
        if self.current is self.computing:
            self.number += 1
            return self.number
        return self.current.after

    def _put(self, place: int, act: Callable[[], Any]) -> None:
        self.handed += 1
        self._entries.append((place, self.handed, act))

    def begin(self, group: Any, begin: Callable[[], Any]) -> BegunLater:
        """Let the current stream begin an operation of a group. A group's operations stay in their order."""
        made, stream = BegunLater(group, begin), self.current
        place = max(self._place(), self._latest.get(group, 0))
        for other in [each for each in stream.works.values() if each.group is not group]:
            self._put(place, other.wait)
        self._latest[group] = place
        if stream is not self.computing:
            stream.after = place
        self._put(place, made.begin)
        return made

    def wait(self, work: BegunLater) -> None:
        """Let the current stream wait for the work."""
        if self.current is not self.computing:
            self.current.works[work.group] = work
        elif not work.is_over:
            work.is_over = True
            self.put(work.wait)

    def flush(self) -> None:
        """Do all that was handed over; the program waits."""
        while self._entries:
            entries, self._entries = sorted(self._entries, key=lambda entry: entry[:2]), []
            with torch_errors():
                for _, _, act in entries:
                    act()

    def __repr__(self) -> str:
        return f"<DeviceQueue, {len(self._entries)} entries>"


def of_rank() -> DeviceQueue | None:
    """The caller's, if its device works beside the program."""
    found: DeviceQueue | None = world.place().given.get(NAME)
    return found


def works_on(tensors: Sequence[Any]) -> bool:
    """Whether the caller's device works beside the program on these tensors, which have no numbers."""
    return of_rank() is not None and bool(tensors) and all(isinstance(each, FakeTensor) for each in tensors)


def begin(group: Any, act: Callable[[], Any]) -> BegunLater:
    queue = of_rank()
    assert queue is not None
    return queue.begin(group, act)


def wait(work: BegunLater) -> None:
    queue = of_rank()
    if queue is not None:
        queue.wait(work)


def flush(*_: Any) -> None:
    """Let the caller's device do all that it has still to do."""
    queue = of_rank()
    if queue is not None:
        queue.flush()


# ----------------------------------------------------------------- in place of torch.cpu's streams


class QueueStream:
    """`after`: what it does next comes behind this entry of the computing stream; and behind the latest works of groups."""

    def __init__(self, priority: int = -1) -> None:
        self.after = 0
        self.works: dict[Any, BegunLater] = {}

    def record_event(self, event: Any = None) -> QueueEvent:
        return (event or QueueEvent()).record(self)

    def wait_stream(self, stream: Any) -> None:
        self.wait_event(QueueEvent().record(stream))

    def wait_event(self, event: Any) -> None:
        queue = of_rank()
        if queue is None or event is None:
            return
        if self is queue.computing:
            for work in event.works:
                queue.wait(work)
        else:
            self.after = max(self.after, event.after)
            self.works.update({work.group: work for work in event.works})

    def synchronize(self) -> None:
        flush()


class QueueEvent:
    """An instant of a stream."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self.after, self.works = 0, list[BegunLater]()

    def record(self, stream: Any = None) -> QueueEvent:
        queue = of_rank()
        if queue is not None:
            stream = stream or queue.current
            self.after = queue.number if stream is queue.computing else stream.after
            self.works = list(stream.works.values())
        return self

    def wait(self, stream: Any = None) -> None:
        (stream or _current_stream()).wait_event(self)

    def query(self) -> bool:
        return True

    def synchronize(self) -> None:
        flush()


_NONE: Final = QueueStream()


def _current_stream(device: Any = None) -> QueueStream:
    queue = of_rank()
    return _NONE if queue is None else queue.current


@contextmanager
def _on_stream(stream: Any) -> Iterator[None]:
    queue = of_rank()
    if queue is None or stream is None:
        yield
        return
    before, queue.current = queue.current, stream
    try:
        yield
    finally:
        queue.current = before


@contextmanager
def around_run() -> Iterator[None]:
    """Torch's streams of the CPU, which do nothing, become ours."""
    instead = {
        "Stream": QueueStream,
        "Event": QueueEvent,
        "current_stream": _current_stream,
        "stream": _on_stream,
        "synchronize": flush,
    }
    with ExitStack() as around:
        for name, ours in instead.items():
            around.enter_context(replaced(torch.cpu, name, ours))
        yield


@contextmanager
def around_program() -> Iterator[None]:
    """A program of this rank; at its end its device does what is left."""
    given = world.place().given
    before, given[NAME] = given.get(NAME), DeviceQueue()
    try:
        yield
        flush()
    finally:
        given[NAME] = before


def later(act: Callable[[], Any]) -> None:
    """Let the device do it: now, or after what it has still to do."""
    queue = of_rank()
    if queue is None:
        act()
    else:
        queue.put(act)
