"""One worker: who it is, whom it can call, and the way of a message that arrives.

    transport ─► WholeSink ─► arrived ─► next_job ─► takers

RpcInbox     puts the messages together. The transport calls it from any thread
RpcWorker    what the parts of a worker share: its caller, its server and its threads. The thread that drives takes
             messages from `arrived`; `takers` has a function for each kind of message

`agent` puts all parts of a worker together.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar, copy_context
from functools import partial
from typing import Any, Final

import numpy as np

from minitorch_dist.distributed.codec import trust
from minitorch_dist.distributed.mail.receives import DISCARD, WholeSink
from minitorch_dist.distributed.rpc.members import WorkerInfo, WorkerTable
from minitorch_dist.distributed.rpc.message import FAILURE, HEADER, WAKE, LostNotice, RpcMessage
from minitorch_dist.tensors.devices import device
from transports.clock import Thread
from transports.contract import Sink, Transport
from transports.errors import Lost, PeerLost, TransportClosed

Job = Callable[[], None]
SMALL: Final = 1 << 16
is_ours: ContextVar[bool] = ContextVar("is_ours", default=False)  # a thread of some worker
_log = logging.getLogger("minitorch_dist.distributed.rpc")


def new_memory(nbytes: int) -> memoryview:
    """Memory for a part. An array may use it later, so nothing else does."""
    return memoryview(bytearray(nbytes)) if nbytes < SMALL else np.empty(nbytes, np.uint8).data


class RpcInbox:
    """Takes the messages of all workers from the transport, and keeps those that are complete.

    The transport calls it from any thread, so nothing in here waits.
    """

    def __init__(self) -> None:
        self.arrived: deque[RpcMessage | LostNotice] = deque()
        self._begun: dict[tuple[int, ...], dict[int, memoryview]] = {}  # parts of messages, by number

    def sink(self, src: int, header: bytes, nbytes: int) -> Sink:
        if len(header) != HEADER.size:
            return self._refuse(src, f"it sent a header of {len(header)} bytes")
        kind, flags, part, parts, id, _ = HEADER.unpack(header)
        if part >= parts or (kind > FAILURE and (kind != WAKE or parts != 1)):
            return self._refuse(src, f"it sent part {part} of {parts} of a message of kind {kind}")
        if kind == WAKE:
            return DISCARD
        message, view = RpcMessage(src, kind, flags, id, []), new_memory(nbytes)
        if parts == 1:
            message.parts.append(view)
            complete = partial(self.arrived.append, message)
        else:
            complete = partial(self._take_part, message, part, parts, view)
        if nbytes:
            return WholeSink(view, complete)
        complete()
        return DISCARD

    def _take_part(self, message: RpcMessage, part: int, parts: int, view: memoryview) -> None:
        """A part has arrived. The message has, if it was the last one."""
        key = message.src, message.kind, message.id, parts
        found = self._begun.setdefault(key, {})
        found[part] = view
        if len(found) == parts and self._begun.pop(key, None) is not None:
            message.parts.extend(found[part] for part in range(parts))
            self.arrived.append(message)

    def _refuse(self, src: int, reason: str) -> Sink:
        """A worker breaks the form of messages: it counts as lost from now on."""
        self.arrived.append(LostNotice(src, reason))
        return DISCARD

    def lost(self, src: int, reason: Exception) -> None:
        for key in [key for key in self._begun if key[0] == src]:
            self._begun.pop(key, None)
        self.arrived.append(LostNotice(src, Lost.of(reason)))


class RpcWorker(RpcInbox):
    """The state that all parts of one worker share."""

    def __init__(self, transport: Transport, me: WorkerInfo, timeout: float) -> None:
        super().__init__()
        self.transport, self.clock, self.me = transport, transport.clock, me
        self.timeout = timeout
        self.is_real = not self.clock.is_virtual
        self.trust = trust.of_peers()
        self.workers = WorkerTable([me])
        self.is_open = False
        self.heard: dict[int, int] = {}  # when the last message of each worker came
        self.takers: dict[int, Callable[[Any], Job | None]] = {}  # of the messages, by their kind
        self.when_closed: Callable[[], None] = lambda: None  # the transport was closed under us
        self.dropped_refs: deque[Any] = deque()  # noted down by `__del__`
        self.release_dropped_refs: Callable[[], None] = self.dropped_refs.clear
        self._context = copy_context()  # our place, generator and devices: those of our threads too

    def worker(self, id: int) -> WorkerInfo:
        return self.workers.by_id[id]

    def device_name(self, to: WorkerInfo, of: device) -> str:
        """The name of our device at `to`. RuntimeError, in torch's words, at any other worker."""
        if to.id == self.me.id:
            return str(of)
        raise RuntimeError(
            f"a tensor on {of} was to be sent to {to.name!r}. RPC only supports CPU tensors by "
            "default, please move your tensors to CPU before sending them over RPC"
        )

    def start(self, function: Job, name: str) -> Thread:
        """A thread of this worker."""
        context = self._context.copy()
        context.run(is_ours.set, True)
        return self.clock.start(lambda: context.run(function), f"{name} of {self.me.name!r}")

    def send(self, dst: int, kind: int, id: int, parts: list[Any], flags: int = 0) -> None:
        """Send a message, each of its parts as one of the transport. PeerLost if its worker is gone, TransportClosed if we
        have left."""
        for number, part in enumerate(parts):
            self.transport.send(dst, HEADER.pack(kind, flags, number, len(parts), id, 0), part)

    def send_if_there(self, dst: int, kind: int, id: int, parts: list[Any], flags: int = 0) -> None:
        """Send a message, if its worker is still there."""
        with suppress(PeerLost, TransportClosed):
            self.send(dst, kind, id, parts, flags)

    def rouse(self) -> None:
        """Wake a thread that may wait in the transport for something that has happened elsewhere."""
        self.send_if_there(self.me.id, WAKE, 0, [b""])

    def listen(self, timeout: float | None, done: Callable[[], bool] | None = None) -> None:
        """Let the transport deliver, until something has arrived or `done` says yes."""
        try:
            self.transport.progress(timeout, self._has_news if done is None else done)
        except TransportClosed:
            self.is_open = False
            self.when_closed()

    def _has_news(self) -> bool:
        return bool(self.arrived) or not self.is_open

    def next_job(self) -> Job | None:
        """Handle the messages that have arrived, until one asks for a function of the user. That is the result."""
        if self.dropped_refs:
            self.release_dropped_refs()
        while self.arrived:
            try:
                message = self.arrived.popleft()
            except IndexError:  # another thread was faster
                break
            self.heard[message.src] = self.clock.now()
            try:
                if (job := self.takers[message.kind](message)) is not None:
                    return job
            except Exception:  # an error of ours, or nonsense from a peer: we go on serving
                _log.exception("a message of worker %d could not be handled", message.src)
        return None
