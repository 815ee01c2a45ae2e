"""The recorder of one rank's timeline: it stands where a journal's would, and keeps instants only.

It is told of operations, not of each of their messages. So all engines go on as they would without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import prod
from typing import Any

from minitorch_dist.distributed.mail import wire
from minitorch_dist.distributed.mail.receives import Arrival, PostedReceive
from minitorch_dist.distributed.mail.recorder import Doing
from minitorch_dist.sim.device_time import DeviceTime
from minitorch_dist.tensors import ledger, pools
from mtd.timelines import owners, timeline
from transports.contract import Sink


class TimelineRecorder:
    """The `Recorder` that writes a `RankTimeline`."""

    sees_messages = False

    def __init__(self, line: timeline.RankTimeline, now: Callable[[], int], devices: DeviceTime | None) -> None:
        self.line, self.now, self.devices = line, now, devices
        self.gauge: Callable[[], int] = lambda: -1
        self.owner: str | None = None  # of what comes next, where it is known; else it is looked for
        self.records_memory = True  # False where somebody else knows what the rank holds
        self._issued: dict[Doing, tuple[int, str]] = {}
        self._open: dict[Doing, tuple[int, str]] = {}  # operations: began, owner
        self._receives: dict[Doing, timeline.Key] = {}
        self._posted: dict[timeline.Key, int] = {}
        self._counts: dict[timeline.Key, int] = {}

    # ---------------------------------------------------------------------------- collectives

    def issued(self, doing: Doing) -> None:
        if doing.sequence != wire.POINT_TO_POINT:
            self._issued[doing] = self.now(), self._owner()

    def began(self, doing: Doing) -> None:
        known = self._issued.get(doing)
        self._open[doing] = self.now(), self._owner() if known is None else known[1]

    def ended(self, doing: Doing, error: BaseException | None) -> None:
        began, owner = self._open.pop(doing)
        known, now = self._issued.pop(doing, None), self.now()
        key, said = _key(doing), doing.fingerprint
        times = None if known is None else known[0], began, now
        ranks = tuple(doing.channel.ranks)  # type: ignore[attr-defined]
        span = timeline.CollectiveSpan(key, said.operation, owner, _nbytes(doing), *times, ranks, said.root)
        self.line.collectives[key] = span
        if known is None:
            self._wait(began, now, key, False)

    def _owner(self) -> str:
        return owners.of_call(self.devices) if self.owner is None else self.owner

    # ------------------------------------------------------------------------------- messages

    def posted(self, doing: Doing, source: int | None) -> None:
        if source is not None:
            tag = getattr(doing, "tag", 0)
            key = self._numbered((source, self.line.rank, doing.group, tag))
            self._receives[doing], self._posted[key] = key, self.now()

    def sent(self, doing: Doing, to: int, step: int, nbytes: int, since: int, error: Exception | None = None) -> None:
        if doing.sequence == wire.POINT_TO_POINT:
            key = self._numbered((self.line.rank, to, doing.group, step))
            self.line.sent[key] = timeline.SentMessage(since, nbytes)

    def received(self, doing: Doing, receive: PostedReceive) -> None:
        key = self._receives.pop(doing, None)
        if key is not None:
            posted = self._posted.pop(key)
            self.line.received[key] = timeline.ReceivedMessage(posted, self.now(), _nbytes(doing))

    def arriving(self, target: PostedReceive | Arrival, sink: Sink, src: int, header: bytes, nbytes: int) -> Sink:
        return sink

    def _numbered(self, key: timeline.Key) -> timeline.Key:
        number = self._counts.get(key, 0)
        self._counts[key] = number + 1
        return (*key, number)

    # -------------------------------------------------------------------------------- program

    @contextmanager
    def waiting(self, doing: Any, source: int | None) -> Iterator[None]:
        since = self.now()
        try:
            yield
        finally:
            sequence = getattr(doing, "sequence", None)
            if doing in self._receives:
                self._wait(since, self.now(), self._receives[doing], True)
            elif source is None:  # for what a worker of this rank does
                is_collective = sequence is not None and sequence != wire.POINT_TO_POINT
                self._wait(since, self.now(), _key(doing) if is_collective else None, False)

    def _wait(self, since: int, until: int, key: timeline.Key | None, is_message: bool) -> None:
        if until > since:
            self.line.program.append(timeline.AwaitedSpan(since, until, key, is_message))
        self._record_memory(until)

    def computed(self, since: int, site: str, operation: str = "", module: str = "") -> None:
        now = self.now()
        if now > since:
            name = operation or f"compute at {site}"
            self.line.program.append(timeline.ComputedSpan(since, now, name, module))
        self._record_memory(now)

    def _record_memory(self, at: int) -> None:
        if self.records_memory and pools.pool():
            self.hold(at, ledger.of("cuda").snapshot().by_category)

    def hold(self, at: int, held: dict[str, int]) -> None:
        """The rank's memory by category since this instant."""
        memory = self.line.memory
        if not memory or memory[-1][1] != held:
            memory.append((at, held))

    def close(self) -> None: ...

    def __repr__(self) -> str:
        return f"<TimelineRecorder of rank {self.line.rank}, {len(self.line.program)} spans>"


def _nbytes(doing: Doing) -> int:
    said = doing.fingerprint
    return prod(said.shape or ()) * (0 if said.dtype is None else said.dtype.itemsize)


def _key(doing: Any) -> timeline.Key:
    return doing.channel.number, doing.sequence
