"""Calls over a transport that may lose messages or deliver them twice: each request runs at most once.

    caller    REQUEST ──✗                          long without an answer: what of request 7?
              PROBE ─────────────────────► callee  STATE: it is unknown here
              REQUEST ───────────────────►         runs it, and keeps its answer
                       ✗── ANSWER
              PROBE ─────────────────────►         its answer again
              DONE ──────────────────────►         the answer need not be kept

The classes here add this to those of `call` and `serve`. A worker has them only if its transport may lose messages
(`may_lose`).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from math import inf
from threading import Lock  # noqa: TID251 - guards the numbers; nothing waits in here
from typing import Any, Final

from minitorch_dist.distributed.exceptions import RpcError
from minitorch_dist.distributed.rpc.call import Caller, PendingCall, PendingCalls, RpcFuture
from minitorch_dist.distributed.rpc.members import WorkerInfo
from minitorch_dist.distributed.rpc.message import (
    DONE,
    KNOWN,
    PROBE,
    REQUEST,
    STATE,
    SYSTEM,
    RpcMessage,
)
from minitorch_dist.distributed.rpc.pool import WorkerPool
from minitorch_dist.distributed.rpc.serve import RequestServer
from minitorch_dist.distributed.rpc.worker import Job, RpcWorker
from transports.clock import PICO
from transports.errors import PeerLost, TransportClosed

RETRY: Final = round(0.25 * PICO)  # without an answer, after which the caller asks for it


class RetriedCall(PendingCall):
    """A call whose request is kept, to be sent again."""

    __slots__ = ("is_known", "parts", "probed")

    def __init__(
        self, pool: WorkerPool, to: WorkerInfo, doing: object, timeout: float, is_system: bool
    ) -> None:
        super().__init__(pool, to, doing, timeout, is_system)
        self.is_known = False  # whether its worker has said that it has the request
        self.parts: list[Any] = []
        self.probed = 0  # when its worker was asked for the answer last, or was sent the request

    def due(self) -> float:
        """When something is due of it: its end, or the next question for its answer."""
        return min(self.end, self.probed + RETRY)

    def whereabouts(self) -> str:
        if self.is_known:
            return f"{self} has arrived there and may have run, or may be running"
        return super().whereabouts()


class RetriedCalls(PendingCalls):
    """The calls without an answer, and which of them to ask for."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = Lock()

    def enter(self, call: RetriedCall) -> None:
        """Give the call its number. `floor` never passes a call that has a number and is not sent yet."""
        with self._lock:
            call.id = next(self.numbers)
            self[call.id] = call

    def floor(self, id: int) -> int:
        """All calls with smaller numbers are over. It is `id` if there are no calls at all."""
        with self._lock:
            return min(list(self), default=id)

    def next_instant(self) -> float:
        return min((call.due() for call in self.retried()), default=inf)

    def retried(self) -> list[RetriedCall]:
        return [call for call in self.all() if isinstance(call, RetriedCall)]

    def to_ask_for(self, now: int) -> list[RetriedCall]:
        """The calls that have been long without an answer. Their wait begins anew now."""
        found = [call for call in self.retried() if now >= call.probed + RETRY]
        for call in found:
            call.probed = now
        return found


class RetryingCaller(Caller):
    """Asks for answers that do not come, and confirms those that came."""

    Call = RetriedCall
    calls: RetriedCalls

    def __init__(self, worker: RpcWorker, pool: WorkerPool) -> None:
        super().__init__(worker, pool)
        self.calls = RetriedCalls()

    def _send(self, call: PendingCall, parts: list[Any]) -> RpcFuture[Any]:
        """The request may be sent again, so it is copied: its arrays may be written to meanwhile."""
        assert isinstance(call, RetriedCall) and call.future is not None, "it is a new call of ours"
        future, call.probed = call.future, self._worker.clock.now()
        call.parts = [bytes(part) for part in parts]
        self.calls.enter(call)
        self._pool.deadlines.expect(call.due())
        try:
            self._request(call)
        except (PeerLost, TransportClosed) as error:
            self._fail(call, call.unsent(error))
        return future

    def _request(self, call: RetriedCall) -> None:
        flags, floor = SYSTEM if call.is_system else 0, self.calls.floor(call.id)
        self._sender.send(call.to.id, REQUEST, call.id, call.parts, flags, floor)

    def tell(self, to: WorkerInfo, operation: int, what: Any) -> None:
        """Make a call of it, since it has to arrive."""
        with suppress(RpcError):
            self.ask(to, operation, what, "word", 0.0)

    def take(self, message: RpcMessage) -> Job | None:
        self._sender.send_if_there(message.src, DONE, message.id)
        return super().take(message)

    def hear_state(self, message: RpcMessage) -> None:
        """A worker says whether it has a request of ours. If it does not, the request is sent again."""
        call = self.calls.get(message.id)
        if not isinstance(call, RetriedCall):
            return
        if message.flags & KNOWN:
            call.is_known = True
        else:
            with suppress(PeerLost, TransportClosed):
                self._request(call)

    def end_overdue(self, give: Callable[[Job], None]) -> None:
        super().end_overdue(give)
        for call in self.calls.to_ask_for(self._worker.clock.now()):
            self._sender.send_if_there(call.to.id, PROBE, call.id)


class ServedRequest:
    """A request that is not answered yet, or whose answer may have to be sent again."""

    __slots__ = ("answer", "kind")

    def __init__(self) -> None:
        self.kind = -1
        self.answer: list[Any] | None = None


class RememberingServer(RequestServer):
    """Remembers each request with its answer, until the caller says that it has the answer.

    A second copy of a request is answered again, and not run again.
    """

    def __init__(self, worker: RpcWorker) -> None:
        super().__init__(worker)
        self._remembered: dict[int, OrderedDict[int, ServedRequest]] = {}
        self._floors: dict[int, int] = {}

    def take(self, message: RpcMessage) -> Job | None:
        return super().take(message) if self._is_new(message) else None

    def _send_reply(self, message: RpcMessage, kind: int, parts: list[Any]) -> None:
        kept = [bytes(part) for part in parts]
        super()._send_reply(message, kind, kept)
        request = self._request(message)
        if request is not None and request.answer is None:
            request.kind, request.answer = kind, kept

    def is_over(self, src: int, id: int) -> bool:
        """Whether a request was begun here, or is so old that its caller wants no answer."""
        return id < self._floors.get(src, 0) or id in self._remembered.get(src, ())

    def _is_new(self, message: RpcMessage) -> bool:
        """Remember the request; False if it is a copy, which is answered again."""
        src, id = message.src, message.id
        known = self._remembered.setdefault(src, OrderedDict())
        if message.floor > self._floors.get(src, 0):
            self._floors[src] = message.floor
            for old in [old for old in known if old < message.floor]:
                del known[old]
        if id < self._floors.get(src, 0):
            return False
        request = known.get(id)
        if request is None:
            known[id] = ServedRequest()
            return True
        if request.answer:
            self._sender.send_if_there(src, request.kind, id, request.answer)
        return False

    def _request(self, message: RpcMessage) -> ServedRequest | None:
        known = self._remembered.get(message.src)
        return None if known is None else known.get(message.id)

    def answer_probe(self, message: RpcMessage) -> None:
        """The caller asks what has become of its request."""
        request, src, id = self._request(message), message.src, message.id
        if request is None or request.answer is None:
            self._sender.send_if_there(src, STATE, id, flags=0 if request is None else KNOWN)
        elif request.answer:
            self._sender.send_if_there(src, request.kind, id, request.answer)

    def drop_answer(self, message: RpcMessage) -> None:
        """The caller has the answer. Only that there was such a request is remembered."""
        request = self._request(message)
        if request is not None:
            request.answer = []

    def owes(self) -> bool:
        """Whether a caller has not confirmed its answer yet."""
        return any(
            r.answer for known in list(self._remembered.values()) for r in list(known.values())
        )

    def forget(self, src: int) -> None:
        """A worker is gone. Another worker under its number counts from 1."""
        self._remembered.pop(src, None)
        self._floors.pop(src, None)
