"""The collectives of a rank, as events of its profile.

An operation of a group may run beside the program, as DDP's do, in another thread than the one that is
profiled. So `sys.setprofile` does not see it. Each operation tells the rank's recorder when it begins and
ends (see `distributed.mail.recorder`); while a profile is on, an `OperationWatch` stands in that place.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from minitorch_dist.distributed.mail.recorder import DoingLike, Recorder
from minitorch_dist.distributed.world import World
from minitorch_dist.profiler.events import COLLECTIVE, TimedEvent


class NoRecorder:
    """A recorder that writes nothing down."""

    sees_messages = False

    def __init__(self, now: Callable[[], int]) -> None:
        self.now = now

    def waiting(self, *_: Any) -> AbstractContextManager[None]:
        return nullcontext()

    def arriving(self, target: Any, sink: Any, *_: Any) -> Any:
        return sink

    def began(self, *_: Any) -> None:
        pass

    issued = ended = posted = sent = received = computed = close = began


class OperationWatch:
    """Makes an event of each operation, and passes all calls on to the recorder that was there before."""

    def __init__(self, world: World, keep: Callable[[TimedEvent], None]) -> None:
        self.rank = world.rank
        self._mailbox, self._keep, self._scheme = world.mailbox, keep, world.transport.scheme
        self._before: Recorder | None = world.mailbox.recorder
        self._recorder: Any = self._before or NoRecorder(world.clock.now)
        self._open: dict[DoingLike, TimedEvent] = {}
        world.mailbox.recorder = self

    def stop(self) -> None:
        if self._mailbox.recorder is self:
            self._mailbox.recorder = self._before

    def began(self, doing: DoingLike) -> None:
        name = f"{self._scheme}:{doing.fingerprint.operation}"
        shape = doing.fingerprint.shape
        shapes = [] if shape is None else [list(shape)]
        self._open[doing] = TimedEvent(name, COLLECTIVE, self._recorder.now(), shapes)
        self._recorder.began(doing)

    def ended(self, doing: DoingLike, error: BaseException | None) -> None:
        self._recorder.ended(doing, error)
        event = self._open.pop(doing, None)
        if event is not None:  # None: it began before the profile did
            event.end = self._recorder.now()
            event.inside = event.end - event.start  # other events of this time are the processor's
            self._keep(event)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._recorder, name)
