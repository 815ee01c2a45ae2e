"""Our side of calls: write, send, and see to it that each ends once.

    call ──► write ──► REQUEST ─────────►           ANSWER, FAILURE   its future is told
                                                    its time is over  RpcTimeout
                                                    its worker gone   WorkerLost
                                                    RPC is shut down  RpcError

Where the transport may lose messages, a call that is long without an answer is asked for (PROBE), and
sent again if the other side says (STATE) that it has never heard of it; that an answer is here is
said as well (DONE).
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from threading import Lock  # noqa: TID251 - guards one `+=`; nothing waits in here
from typing import Any, Protocol

from minitorch_dist.distributed.callsite import callsite
from minitorch_dist.distributed.codec import Reader, Writer
from minitorch_dist.distributed.rpc import baggage
from minitorch_dist.distributed.rpc.calls import Call, RpcFuture, Waiter
from minitorch_dist.distributed.rpc.crew import Job
from minitorch_dist.distributed.rpc.errors import RpcError
from minitorch_dist.distributed.rpc.frames import (
    ANSWER,
    DONE,
    FAILURE,
    KNOWN,
    ONE_WAY,
    PROBE,
    REQUEST,
    STATE,
    SYSTEM,
    Message,
)  # fmt: skip
from minitorch_dist.distributed.rpc.outstanding import Outstanding
from minitorch_dist.distributed.rpc.post import Post
from minitorch_dist.distributed.rpc.workers import WorkerInfo
from minitorch_dist.distributed.rpc.writing import DeviceNames, RpcWriter
from transports.clock import Clock
from transports.errors import PeerLost, TransportClosed


class Home(Waiter, Protocol):
    """What calling needs of the agent."""

    me: WorkerInfo
    clock: Clock
    names: DeviceNames
    timeout: float
    is_open: bool

    def tidy(self) -> None:
        """Give back what has become garbage."""

    def visit(self) -> None:
        """A thread makes a call, and will wait for it."""

    def expect(self, instant: int) -> None:
        """`end_overdue` is to be called then."""


class Caller:
    """The calls of one worker."""

    def __init__(self, home: Home, post: Post) -> None:
        self._home, self._post = home, post
        self._calls = Outstanding(post.may_lose)
        self._numbers = itertools.count(1)
        self._lock = Lock()
        self.issued: Counter[int] = Counter()  # requests of users that were sent, by callee

    # ------------------------------------------------------------------------------------ making

    def call(
        self, to: WorkerInfo, operation: int, write: Callable[[Writer], None], doing: str,
        timeout: float = -1.0, is_system: bool = False,
        settled: Callable[[Exception | None], None] | None = None, keeps: object = None,
        site: str | None = None,
    ) -> RpcFuture[Any]:  # fmt: skip
        """Send a request; the future of its answer. What cannot be sent raises here.

        `settled` is told, in whichever thread finds out, that there is an answer or what came
        instead of it; it must not wait. `keeps` is kept until then. `site` is the caller's line, if it
        was looked up already.
        """
        home = self._home
        if not is_system:
            home.tidy()
        if not home.is_open:
            raise RpcError(f"worker {home.me.name!r} has shut RPC down; {doing} was not called")
        seconds = home.timeout if timeout < 0 else timeout
        future: RpcFuture[Any] = RpcFuture(home, lambda: f"the answer to {call}")
        if site is None:
            site = "" if is_system else callsite()
        call = Call(
            next(self._numbers), to, doing, site, home.clock.now(),
            seconds, future, is_system,
        )  # fmt: skip
        call.settled, call.keeps = settled, keeps
        writer = RpcWriter(to.id, home.names.at(to))
        writer.out.append(operation)
        write(writer)
        if not is_system:
            writer.value(baggage.pack(writer, to.id))
            with self._lock:
                self.issued[to.id] += 1
        writer.depart()
        home.visit()
        self._calls[call.id] = call
        parts = self._post.sealed([writer.out, *writer.buffers])
        if self._post.may_lose:
            call.parts = parts
        instant = self._calls.next_of(call)
        if instant is not None:
            home.expect(instant)
        try:
            self._request(call, parts)
        except PeerLost as error:
            self._fail(call, call.unsent(error.reason))
        except TransportClosed:
            self._fail(call, RpcError(f"{call} was not made: RPC was shut down"))
        return future

    def _request(self, call: Call, parts: list[Any]) -> None:
        floor = self._calls.floor(call.id) if self._post.may_lose else 0
        self._post.send(call.to.id, REQUEST, call.id, parts, SYSTEM * call.is_system, floor)

    def tell(self, to: WorkerInfo, operation: int, what: Any) -> None:
        """Send word that needs no answer, if there is still somebody to hear it."""
        if self._post.may_lose:
            with suppress(RpcError):
                self.call(
                    to, operation, lambda writer: writer.value(what), "word", 0.0, is_system=True
                )
        elif self._home.is_open:
            writer = RpcWriter(to.id, str)
            writer.out.append(operation)
            writer.value(what)
            parts, number = [writer.out, *writer.buffers], next(self._numbers)
            self._post.send_if_there(to.id, REQUEST, number, parts, SYSTEM | ONE_WAY)

    # ------------------------------------------------------------------------------------- ending

    def is_waited_for(self, id: int) -> bool:
        return id in self._calls

    def take(self, message: Message) -> Job | None:
        """What the other side says of a call of ours; a job if functions of the user are to run."""
        kind, id = message.kind, message.id
        if kind in (ANSWER, FAILURE):
            call = self._calls.pop(id, None)
            if self._post.may_lose:
                self._post.send_if_there(message.src, DONE, id)
            if call is not None:
                return self._answered(call, message)
            if self._calls.was_given_up(id):
                return lambda: _let_go(message)
        elif kind == STATE and (call := self._calls.get(id)) is not None:
            if message.flags & KNOWN:
                call.is_known = True
            else:
                with suppress(PeerLost, TransportClosed):
                    self._request(call, call.parts)
        return None

    def _answered(self, call: Call, message: Message) -> Job | None:
        """Complete the call's future: here, unless functions of the user hang on it."""

        def complete() -> None:
            reader = Reader(message.parts[0], message.parts[1:])
            try:
                value, load = reader.value(), reader.value()
                baggage.back(load, reader, message.src)
            except Exception as error:
                error.add_note(f"(while reading the answer to {call})")
                call.end_with(error)
                return
            if message.kind == ANSWER:
                call.answer(value)
                return
            if not isinstance(value, Exception):
                value = RpcError(f"{call} failed with {value!r}")
            value.add_note(f"(in {call})")
            call.end_with(value)

        if call.has_callbacks and not call.is_system:
            return complete
        complete()
        return None

    def lose(self, worker: int, reason: str) -> Job | None:
        """A worker is gone: what was asked of it will not be answered."""
        failing = [call for call in self._calls.all() if call.to.id == worker]

        def fail() -> None:
            for call in failing:
                self._fail(call, call.bereft(reason))

        if any(call.has_callbacks for call in failing):
            return fail
        fail()
        return None

    def _fail(self, call: Call, error: Exception) -> None:
        if self._calls.pop(call.id, None) is not None:
            call.end_with(error)

    def end_overdue(self, give: Callable[[Job], None]) -> None:
        """End the calls whose time is over, and ask for those that are long without an answer. What
        runs functions of the user is given to `give`."""
        now = self._home.clock.now()
        for call in self._calls.over(now):
            if call.has_callbacks:
                give(partial(call.end_with, call.overdue()))
            else:
                call.end_with(call.overdue())
        for call in self._calls.to_ask_for(now):
            self._post.send_if_there(call.to.id, PROBE, call.id)

    def close(self) -> None:
        """Nothing will be answered any more."""
        for call in self._calls.all():
            self._fail(call, RpcError(f"RPC was shut down before there was an answer to {call}"))

    # ------------------------------------------------------------------------------------ looking

    def next_instant(self) -> int | None:
        """When something is due of a call."""
        return self._calls.next_instant()

    def of_users(self) -> list[Call]:
        """Calls of the user that have no answer yet."""
        return self._calls.of_users()

    @property
    def has_given_up(self) -> bool:
        """Whether some call of ours was."""
        return self._calls.has_given_up

    def __repr__(self) -> str:
        return f"<Caller, {len(self._calls)} calls without an answer>"


def _let_go(message: Message) -> None:
    """An answer for which nobody waits any more: let go of what came with it."""
    reader = Reader(message.parts[0], message.parts[1:])
    with suppress(Exception):
        reader.value()
