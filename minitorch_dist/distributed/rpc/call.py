"""The caller's side: make calls, and make sure that each of them ends once.

    call ──► write ──► REQUEST ─────────►      an answer comes         the future has its value or exception
                                               its time is over        RpcTimeout
                                               its worker is gone      WorkerLost
                                               RPC is shut down        RpcError

RpcFuture      the future of an answer. A thread that waits for it drives the transport meanwhile, so no
               other thread stands between the wire and the caller
PendingCall    one call without an answer
PendingCalls   all calls without an answer, by number
Caller         makes the calls of one worker, and ends them
"""

from __future__ import annotations

import itertools
from _thread import get_ident
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from functools import partial
from math import inf
from threading import Lock  # noqa: TID251 - guards the numbers; nothing waits in here
from typing import Any, Final, TypeVar

from minitorch_dist.distributed.callsite import callsite
from minitorch_dist.distributed.exceptions import RpcError, RpcTimeout, WorkerLost
from minitorch_dist.distributed.rpc import functions, message as messages
from minitorch_dist.distributed.rpc.members import WorkerInfo
from minitorch_dist.distributed.rpc.message import ANSWER, ONE_WAY, REQUEST, SYSTEM, RpcMessage, RpcReader, RpcWriter
from minitorch_dist.distributed.rpc.pool import WorkerPool, how_to_wait
from minitorch_dist.distributed.rpc.worker import Job, RpcWorker, is_ours
from minitorch_dist.futures import Future
from transports.clock import PICO
from transports.errors import PeerLost, TransportClosed

T = TypeVar("T")
Timeout = float | timedelta  # in seconds
UNSET_RPC_TIMEOUT: Final = -1.0  # that of the options
Settled = Callable[[Any, Exception | None], None]  # told the answer, or the error that came instead


class RpcFuture(Future[T]):
    """A future whose value comes over the wire. `waits_for` says in words which value that is."""

    def __init__(self, pool: WorkerPool, waits_for: Callable[[], str]) -> None:
        super().__init__(condition=partial(pool.worker.clock.condition, waits_for))
        self._pool, self._waits_for = pool, waits_for
        self.waiting: list[int] = []  # the threads that wait for it in the transport

    def _wait_until_done(self) -> None:
        with how_to_wait.get():
            if self._pool.worker.is_real:
                self._drive()
            if not self.done():  # or RPC was shut down, and the call is about to fail
                super()._wait_until_done()

    def _drive(self) -> None:
        """Drive the transport until it is done. A function that arrives meanwhile runs in another thread."""
        pool, worker, me = self._pool, self._pool.worker, get_ident()
        pool.guests.append(self)
        self.waiting.append(me)
        try:
            while worker.is_open and not self.done():
                worker.listen(None, self.done)
                while (job := worker.next_job()) is not None:
                    pool.give(job)
        finally:
            self.waiting.remove(me)
            pool.guests.remove(self)
            if pool.is_deep:
                pool.wake_driver()

    def settle(self, seconds: float | None) -> bool:
        """Wait so long while other threads drive, and raise nothing. Whether it is done."""
        deadline = self._pool.worker.clock.deadline(seconds)
        with self._changed:
            while not (self.done() or deadline.is_over()):
                self._changed.wait(deadline.left())
        return self.done()

    def _announce(self) -> None:
        if self.waiting and self.waiting != [get_ident()]:
            self._pool.worker.rouse()

    def _following(self) -> RpcFuture[Any]:
        return RpcFuture(self._pool, self._waits_for)


def seconds_of(timeout: float | timedelta) -> float:
    """A timeout in seconds, from a number or a timedelta."""
    return timeout.total_seconds() if isinstance(timeout, timedelta) else float(timeout)


def at_once(job: Job) -> None:
    job()


class PendingCall:
    """One call without an answer.

    `doing` is the function that is called, or words for an operation, and `site` the caller's line. `settled` is told
    the answer, or the error that came instead, in any thread; it must not wait. `keeps` is kept until then.
    """

    __slots__ = ("doing", "end", "future", "id", "is_system", "keeps", "settled", "site", "timeout", "to")

    def __init__(self, pool: WorkerPool, to: WorkerInfo, doing: object, timeout: float, is_system: bool) -> None:
        self.id, self.site = 0, ""  # it gets its number when it is sent
        self.to, self.doing, self.timeout, self.is_system = to, doing, timeout, is_system
        self.end = pool.worker.clock.now() + round(timeout * PICO) if timeout > 0 else inf
        self.future: RpcFuture[Any] | None = RpcFuture(pool, self.awaited)
        self.settled: Settled | None = None
        self.keeps: object = None

    def finish(self, value: Any = None, error: Exception | None = None) -> None:
        """Complete the future and forget it. It knows the call, for its words, and a circle would keep its value."""
        future, settled = self.future, self.settled
        self.future = self.settled = self.keeps = None
        assert future is not None, "a call ends once"
        if settled is not None:
            settled(value, error)
        future.set_result(value) if error is None else future.set_exception(error)

    @property
    def has_callbacks(self) -> bool:
        """Whether functions of the user run when it ends."""
        return bool(self.future and self.future._callbacks and not self.is_system)

    # ---------------------------------------------------------------------------- in words

    def awaited(self) -> str:
        return f"the answer to {self}"

    def lost(self, reason: str, was_sent: bool) -> WorkerLost:
        """Its worker is gone."""
        fate = "may have run" if was_sent else "was not sent"
        return WorkerLost(self.to.id, reason, f"was worker {self.to.name!r}; {self} {fate}", was_sent)

    def overdue(self) -> RpcTimeout:
        """Its time is over."""
        return RpcTimeout(
            f"RPCErr:1:RPC ran for more than set timeout ({self.timeout * 1000:.0f} ms) and will now "
            f"be marked with an error. {self} may have run, may be running, or may still come to run; give it more time (timeout=…), or look what "
            f"{self.to.name!r} does"
        )

    def failure(self, value: Any) -> Exception:
        """The exception that the function raised, with a note that names the call."""
        error = value if isinstance(value, Exception) else RpcError(f"{self} failed with {value!r}")
        BaseException.add_note(error, f"(in {self})")
        return error

    def __str__(self) -> str:
        at = f", called at {self.site}" if self.site else ""
        return f"{functions.name_of(self.doing)} on {self.to.name!r}{at}"


class Caller:
    """Makes the calls of one worker, and ends them."""

    def __init__(self, worker: RpcWorker, pool: WorkerPool) -> None:
        self._worker, self._pool = worker, pool
        self._calls: dict[int, PendingCall] = {}  # without an answer, by number; any thread changes it
        self._numbers = itertools.count(1)
        self.has_given_up = False  # whether any call ever was
        self._lock = Lock()
        self.issued: Counter[int] = Counter()  # requests of users that were sent, by callee

    # ------------------------------------------------------------------------------------ making

    def call(
        self,
        to: WorkerInfo,
        operation: int,
        asked: Any,
        doing: object,
        timeout: Timeout = UNSET_RPC_TIMEOUT,
        settled: Settled | None = None,
        keeps: object = None,
        site: str | None = None,
    ) -> RpcFuture[Any]:
        """Make a call of the user. The result is the future of its answer. A value that cannot be sent raises here.

        A call in a context of autograd tells it. `site` is the caller's line, if it was looked up already.
        """
        worker, context = self._worker, messages.context_id.get()
        call = self._new(to, doing, timeout, is_system=False)
        call.settled, call.keeps = settled, keeps
        writer = RpcWriter(to.id, partial(worker.device_name, to), worker.trust)
        writer.request(operation, asked)
        if worker.dropped_refs:
            worker.release_dropped_refs()
        self._pool.visits += not is_ours.get()
        call.site = callsite() if site is None else site
        writer.value(None if context is None else messages.autograd[0].pack(writer, to.id, context))
        with self._lock:
            self.issued[to.id] += 1
        return self._send(call, writer.parts())

    def ask(
        self,
        to: WorkerInfo,
        operation: int,
        what: Any,
        doing: str,
        timeout: float = UNSET_RPC_TIMEOUT,
        settled: Settled | None = None,
    ) -> RpcFuture[Any]:
        """Ask a worker for something about RPC itself. It is no call of the user, so it is not counted."""
        call = self._new(to, doing, timeout, is_system=True)
        call.settled = settled
        writer = RpcWriter(to.id, partial(self._worker.device_name, to), self._worker.trust)
        writer.request(operation, what)
        return self._send(call, writer.parts())

    def _new(self, to: WorkerInfo, doing: object, timeout: Timeout, is_system: bool) -> PendingCall:
        worker, seconds = self._worker, seconds_of(timeout)
        if not worker.is_open:
            what = functions.name_of(doing)
            raise RpcError(f"worker {worker.me.name!r} has shut RPC down; {what} was not called")
        return PendingCall(self._pool, to, doing, worker.timeout if seconds < 0 else seconds, is_system)

    def _send(self, call: PendingCall, parts: list[Any]) -> RpcFuture[Any]:
        """Send the request of a call that is written: writing it may have made other calls."""
        future, deadlines = call.future, self._pool.deadlines
        call.id = next(self._numbers)
        self._calls[call.id] = call
        if call.end < deadlines.wakes:
            deadlines.expect(call.end)
        try:
            self._worker.send(call.to.id, REQUEST, call.id, parts, SYSTEM if call.is_system else 0)
        except PeerLost as error:
            self._fail(call, call.lost(error.why, was_sent=False))
        except TransportClosed:
            self._fail(call, RpcError(f"{call} was not made: RPC was shut down"))
        return future  # type: ignore[return-value]  # nothing had taken it out of a new call

    def tell(self, to: WorkerInfo, operation: int, what: Any) -> None:
        """Send a request that needs no answer, if its worker is still there."""
        if self._worker.is_open:
            writer = RpcWriter(to.id, str, self._worker.trust)
            writer.request(operation, what)
            id, parts = next(self._numbers), writer.parts()
            self._worker.send_if_there(to.id, REQUEST, id, parts, SYSTEM | ONE_WAY)

    # ------------------------------------------------------------------------------------- ending

    def take(self, message: RpcMessage) -> Job | None:
        """An answer or a failure has come. It is a job if functions of the user wait for it."""
        call = self._calls.pop(message.id, None)
        if call is None:
            return partial(self._release, message) if self.has_given_up else None
        if call.has_callbacks:
            return partial(self._answered, call, message)
        self._answered(call, message)
        return None

    def _release(self, message: RpcMessage) -> None:
        """Nobody waits for this answer any more. Reading it lets go of the references in it."""
        with suppress(Exception):
            RpcReader(message.parts[0], message.parts[1:], self._worker.trust).value()

    def _answered(self, call: PendingCall, message: RpcMessage) -> None:
        """Complete the call with the answer or the failure that has come."""
        reader = RpcReader(message.parts[0], message.parts[1:], self._worker.trust)
        try:
            value, load = reader.value(), reader.value()
            if load is not None:
                messages.autograd[0].back(load, reader, message.src)
        except Exception as error:
            error.add_note(f"(while reading the answer to {call})")
            call.finish(error=error)
            return
        call.finish(value, None if message.kind == ANSWER else call.failure(value))

    def lose(self, worker: int, reason: str) -> None:
        """A worker is gone: its calls will not be answered."""
        for call in self.pending():
            if call.to.id == worker:
                self._fail(call, call.lost(reason, was_sent=True), self._pool.give)

    def _fail(self, call: PendingCall, error: Exception, give: Callable[[Job], None] = at_once) -> None:
        """End a call without an answer. A job that runs functions of the user goes to `give`."""
        if self._calls.pop(call.id, None) is not None:
            end = partial(call.finish, error=error)
            give(end) if call.has_callbacks else end()

    def next_instant(self) -> float:
        """When the time of some call is over."""
        return min((call.end for call in self.pending()), default=inf)

    def end_overdue(self) -> None:
        """Give up the calls whose time is over."""
        now = self._worker.clock.now()
        for call in self.pending():
            if now >= call.end:
                self.has_given_up = True
                self._fail(call, call.overdue(), self._pool.give)

    def close(self) -> None:
        """Nothing will be answered any more."""
        for call in self.pending():
            self._fail(call, RpcError(f"RPC was shut down before there was an answer to {call}"))

    def pending(self) -> list[PendingCall]:
        """The calls that have no answer yet."""
        return list(self._calls.values())

    def __repr__(self) -> str:
        return f"<Caller, {len(self._calls)} calls without an answer>"
