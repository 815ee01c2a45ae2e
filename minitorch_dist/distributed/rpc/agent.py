"""One worker: its calls, the transport they go over, and the threads that serve those of others.

    call ──► write ──► send ─────────────► whole ──► crew: run ──► answer
    wait ◄── read ◄── next_job ◄── whole ◄──────────────────────────┘

`whole` is called by the transport, from any thread, and only puts the message into `_arrived`; who
drives takes it from there (`next_job`). Where the transport may lose messages (`may_lose`), requests
that are long without an answer are asked for (PROBE), and sent again if they are unknown.
"""

from __future__ import annotations

import itertools
import logging
from _thread import get_ident
from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from threading import Lock  # noqa: TID251 - guards one `+=`; nothing waits in here
from typing import Any, Final

from minitorch_dist.distributed import world
from minitorch_dist.distributed.callsite import callsite
from minitorch_dist.distributed.codec import Reader, Writer
from minitorch_dist.distributed.rpc import baggage, frames
from minitorch_dist.distributed.rpc.calls import Call, RpcFuture
from minitorch_dist.distributed.rpc.crew import Crew, Job, is_ours
from minitorch_dist.distributed.rpc.errors import NOT_INITIALIZED, RpcError
from minitorch_dist.distributed.rpc.frames import (
    ANSWER,
    DONE,
    FAILURE,
    HEADER,
    KNOWN,
    ONE_WAY,
    PROBE,
    REQUEST,
    STATE,
    SYSTEM,
    WAKE,
    Lost,
    Message,
)  # fmt: skip
from minitorch_dist.distributed.rpc.outstanding import Outstanding
from minitorch_dist.distributed.rpc.serving import Server
from minitorch_dist.distributed.rpc.watch import Watchman
from minitorch_dist.distributed.rpc.workers import WorkerInfo, Workers
from minitorch_dist.distributed.rpc.writing import DeviceNames, RpcWriter
from transports.clock import PICO, Deadline, SystemClock, Thread
from transports.contract import Transport
from transports.errors import PeerLost, TransportClosed

_log = logging.getLogger("minitorch_dist.distributed.rpc")


class Agent(frames.Assembling):
    """See above. `extras` is for the modules above: one object under the name of each."""

    def __init__(self, transport: Transport, me: WorkerInfo, threads: int, timeout: float) -> None:
        super().__init__()
        self.transport, self.clock, self.me = transport, transport.clock, me
        self.timeout = timeout
        self.is_real = isinstance(self.clock, SystemClock)
        self.may_lose = bool(getattr(transport, "may_lose", False))
        self.workers = Workers([me])
        self.names = DeviceNames(me, {})
        self.is_growing = False  # workers join and leave one by one
        self.first_number = 0  # of our objects; who had our rank before us had others
        self.lost_workers: dict[int, str] = {}
        self.heard: dict[int, int] = {}  # when each worker was last heard of
        self.issued: Counter[int] = Counter()  # requests of users that were sent, by callee
        self._lock = Lock()
        self.is_open = False
        self.litter: deque[Any] = deque()  # what `__del__` has noted down
        self.sweep: Callable[[], None] = self.litter.clear
        self.extras: dict[str, Any] = {}
        self._context = copy_context()  # our place, generator and devices: those of our threads too
        self._calls = Outstanding(self.may_lose)
        self._numbers = itertools.count(1)
        self._arrived: deque[Message | Lost] = deque()
        self.server = Server(self)
        self.crew = Crew(self, threads, self.is_real)
        self.watchman = Watchman(self, lambda: self.crew.inline, self.crew.relieve)

    def begin(self, workers: Workers) -> None:
        """All workers are there: take part."""
        self.workers, self.is_open = workers, True
        self.crew.begin()
        self.watchman.begin()

    def worker(self, id: int) -> WorkerInfo:
        return self.workers.ever(id)

    def others(self) -> list[WorkerInfo]:
        return [info for info in list(self.workers.by_id.values()) if info.id != self.me.id]

    def admit(self, info: WorkerInfo) -> None:
        """A worker has joined."""
        self.lost_workers.pop(info.id, None)
        self.workers.admit(info)

    def start(self, function: Job, name: str) -> Thread:
        """A thread of this worker."""
        context = self._context.copy()
        context.run(is_ours.set, True)
        return self.clock.start(lambda: context.run(function), f"{name} of {self.me.name!r}")

    # ---------------------------------------------------------------------------------- calling

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
        if self.litter and not is_system:
            self.sweep()
        if not self.is_open:
            raise RpcError(f"worker {self.me.name!r} has shut RPC down; {doing} was not called")
        seconds = self.timeout if timeout < 0 else timeout
        future: RpcFuture[Any] = RpcFuture(self, lambda: f"the answer to {call}")
        if site is None:
            site = "" if is_system else callsite()
        call = Call(
            next(self._numbers), to, doing, site, self.clock.now(),
            seconds, future, is_system,
        )  # fmt: skip
        call.settled, call.keeps = settled, keeps
        writer = RpcWriter(to.id, self.names.at(to))
        writer.out.append(operation)
        write(writer)
        if not is_system:
            writer.value(baggage.pack(writer, to.id))
            with self._lock:
                self.issued[to.id] += 1
        writer.depart()
        self.crew.visit()
        self._calls[call.id] = call
        parts = [writer.out, *writer.buffers]
        if self.may_lose:
            call.parts = [bytes(part) for part in parts]
            parts = call.parts
        instant = self._calls.next_of(call)
        if instant is not None:
            self.watchman.expect(instant)
        try:
            self._send(to.id, REQUEST, SYSTEM if is_system else 0, call.id, parts)
        except PeerLost as error:
            self._fail(call, call.unsent(error.reason))
        except TransportClosed:
            self._fail(call, RpcError(f"{call} was not made: RPC was shut down"))
        return future

    def tell(self, to: WorkerInfo, operation: int, what: Any) -> None:
        """Send word that needs no answer, if there is still somebody to hear it."""
        if self.may_lose:
            with suppress(RpcError):
                self.call(
                    to, operation, lambda writer: writer.value(what), "word", 0.0, is_system=True
                )
        elif self.is_open:
            writer = RpcWriter(to.id, str)
            writer.out.append(operation)
            writer.value(what)
            with suppress(PeerLost, TransportClosed):
                parts = [writer.out, *writer.buffers]
                self._send(to.id, REQUEST, SYSTEM | ONE_WAY, next(self._numbers), parts)

    def _send(self, dst: int, kind: int, flags: int, id: int, parts: list[Any]) -> None:
        floor = self._calls.floor(id) if self.may_lose and kind == REQUEST else 0
        count = len(parts)
        for number, part in enumerate(parts):
            self.transport.send(dst, HEADER.pack(kind, flags, number, count, id, floor), part)

    def reply(self, dst: int, kind: int, id: int, write: Callable[[Any], None]) -> list[Any]:
        writer = RpcWriter(dst, self.names.at(self.worker(dst), is_answer=True))
        write(writer)
        writer.depart()
        parts: list[Any] = [writer.out, *writer.buffers]
        if self.may_lose:
            parts = [bytes(part) for part in parts]
        self.send_again(dst, kind, id, parts)
        return parts

    def send_again(self, dst: int, kind: int, id: int, parts: list[Any]) -> None:
        """Send an answer, if there is still somebody to take it."""
        if parts:
            try:
                self._send(dst, kind, 0, id, parts)
            except (PeerLost, TransportClosed):
                return

    def state(self, dst: int, id: int, is_known: bool) -> None:
        try:
            self._send(dst, STATE, KNOWN if is_known else 0, id, [b""])
        except (PeerLost, TransportClosed):
            return

    # ---------------------------------------------------------------------------------- waiting

    def condition(self, waits_for: Callable[[], str]) -> Any:
        return self.clock.condition(waits_for)

    def wait_for(self, future: RpcFuture[Any], deadline: Deadline | None = None) -> None:
        """In real time: drive the transport until the future is done."""
        was_ours = self.crew.enter()
        deadline = deadline or self.clock.deadline(None)
        try:
            if not self.is_real:
                future.settle(deadline)
                return
            self.crew.guest(future)
            future.waiting.append(get_ident())
            try:
                while not (future.done() or deadline.is_over()) and self.is_open:
                    self.listen(deadline.left(), future.done)
                    while (job := self.next_job()) is not None:
                        self.crew.give(job)
            finally:
                future.waiting.remove(get_ident())
                self.crew.depart(future)
        finally:
            self.crew.leave(was_ours)

    def rouse(self) -> None:
        try:
            self.transport.send(self.me.id, HEADER.pack(WAKE, 0, 0, 1, 0, 0), b"")
        except (TransportClosed, PeerLost):
            return

    def listen(self, timeout: float | None, done: Callable[[], bool] | None = None) -> None:
        try:
            self.transport.progress(timeout, self._has_news if done is None else done)
        except TransportClosed:
            self._closed_under_us()

    def _has_news(self) -> bool:
        return bool(self._arrived) or not self.is_open

    # ---------------------------------------------------------------------------------- arrivals

    def whole(self, message: Message) -> None:
        self._arrived.append(message)

    def gone(self, lost: Lost) -> None:
        self._arrived.append(lost)

    def is_stale(self, src: int, kind: int, id: int) -> bool:
        if kind == REQUEST:
            return self.server.is_over(src, id)
        return id not in self._calls

    def next_job(self) -> Job | None:
        """Deal with what has arrived, until something of the user's is to be run."""
        if self.litter:
            self.sweep()
        while self._arrived:
            try:
                message = self._arrived.popleft()
            except IndexError:  # another thread was faster
                return None
            try:
                job = self._deal_with(message)
            except Exception:  # a bug of ours, or nonsense of theirs: we go on serving
                _log.exception("a message of worker %d could not be dealt with", message.src)
                continue
            if job is not None:
                return job
        return None

    def _deal_with(self, message: Message | Lost) -> Job | None:
        if isinstance(message, Lost):
            return self._lose(message)
        self.heard[message.src] = self.clock.now()
        if message.kind == REQUEST:
            return self.server.take(message)
        return self._take(message)

    def _take(self, message: Message) -> Job | None:
        kind, id = message.kind, message.id
        if kind in (ANSWER, FAILURE):
            call = self._calls.pop(id, None)
            if self.may_lose:
                self._send_quietly(message.src, DONE, id)
            if call is not None:
                return self._answered(call, message)
            if self._calls.was_given_up(id):
                return lambda: self._dismiss(message)
        elif kind == PROBE:
            self.server.probe(message)
        elif kind == DONE:
            self.server.done(message)
        elif kind == STATE:
            call = self._calls.get(id)
            if call is not None and message.flags & KNOWN:
                call.is_known = True
            elif call is not None:
                self._send_quietly(call.to.id, REQUEST, id, SYSTEM * call.is_system, call.parts)
        return None

    def _send_quietly(
        self, dst: int, kind: int, id: int, flags: int = 0, parts: list[Any] | None = None
    ) -> None:
        try:
            self._send(dst, kind, flags, id, [b""] if parts is None else parts)
        except (PeerLost, TransportClosed):
            return

    def _dismiss(self, message: Message) -> None:
        """An answer for which nobody waits any more: let go of what came with it."""
        reader = Reader(message.parts[0], message.parts[1:])
        with suppress(Exception):
            reader.value()

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

    # ----------------------------------------------------------------------------------- endings

    def _lose(self, lost: Lost) -> Job | None:
        """A worker is gone: its calls fail at once."""
        src, reason = lost
        if src in self.lost_workers:
            return None
        self.lost_workers[src] = reason
        self.server.forget(src)
        if self.is_growing:
            self.workers.dismiss(src, reason)
        failing = [call for call in self._calls.all() if call.to.id == src]
        for listener in list(self.extras.get("when_lost", ())):
            listener(src, reason)

        def fail() -> None:
            for call in failing:
                if self._calls.pop(call.id, None) is not None:
                    call.end_with(call.bereft(reason))

        if any(call.has_callbacks for call in failing):
            return fail
        fail()
        return None

    def _fail(self, call: Call, error: Exception) -> None:
        if self._calls.pop(call.id, None) is not None:
            call.end_with(error)

    def _closed_under_us(self) -> None:
        """Our transport was closed: nothing will be answered any more."""
        self.is_open = False
        for call in self._calls.all():
            self._fail(call, RpcError(f"RPC was shut down before there was an answer to {call}"))

    # ------------------------------------------------------------------------------ for the watchman

    def next_instant(self) -> int | None:
        upcoming = self._calls.next_instant()
        if self.is_real and (book := self.extras.get("rrefs")) is not None and not book.is_empty():
            soon = self.clock.now() + PICO // 2  # garbage is looked for twice a second
            return soon if upcoming is None else min(upcoming, soon)
        return upcoming

    def do_what_is_due(self) -> None:
        if self.litter:
            self.sweep()
        now = self.clock.now()
        for call in self._calls.over(now):
            if call.has_callbacks:
                self.crew.give(partial(call.end_with, call.overdue()))
            else:
                call.end_with(call.overdue())
        for call in self._calls.to_ask_for(now):
            self._send_quietly(call.to.id, PROBE, call.id)

    # ------------------------------------------------------------------------------------- closing

    @property
    def outstanding(self) -> list[Call]:
        """Calls of the user that have no answer yet."""
        return self._calls.of_users()

    @property
    def has_given_up(self) -> bool:
        """Whether some call of ours was."""
        return self._calls.has_given_up

    def alert(self) -> None:
        self.watchman.alert()

    def close(self, patience: float | None = None) -> None:
        """End at once. What is not answered fails. Functions that still run are waited for, for so
        many seconds."""
        self.is_open = False
        self.crew.close()
        self.watchman.close()
        self.transport.close()
        self._closed_under_us()
        self.crew.join(patience)
        self.watchman.join()

    def __repr__(self) -> str:
        state = "open" if self.is_open else "closed"
        return (
            f"<Agent of {self.me.name!r}, {state}, {len(self._calls)} calls without an answer, "
            f"{self.crew!r}, {self.transport!r}>"
        )


KEY: Final = "rpc"


def is_here() -> bool:
    return KEY in world.place().extras


def current() -> Agent:
    """This worker's agent; torch's RuntimeError before `init_rpc`."""
    agent = world.place().extras.get(KEY)
    if agent is None:
        raise RuntimeError(NOT_INITIALIZED)
    return agent  # type: ignore[no-any-return]
