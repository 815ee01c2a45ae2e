"""One worker: all its parts, and the way of a message that arrives.

    caller          our calls: write ─► send ────────► arrived ─► next_job ─► server   run, answer
                    wait ◄── read ◄── next_job ◄── arrived ◄──────────────────────┘
    worker pool     decides which thread does it: a thread that waits for an answer drives the transport,
                    and a function runs in the thread that received its request
    deadline thread wakes when something is due, and when a function runs for long in the driver's thread

The transport calls `sink` from any thread; a complete message is put into `arrived`. The driver takes it from
there (`next_job`). A call and its reply in their simplest form: `plain`.
"""

from __future__ import annotations

import logging
from _thread import get_ident
from collections import deque
from collections.abc import Callable
from contextvars import copy_context
from threading import Lock  # noqa: TID251 - guards the parts; nothing waits in here
from typing import Any, Final, TypeVar

from minitorch_dist.distributed import world
from minitorch_dist.distributed.codec import trust
from minitorch_dist.distributed.rpc.call import Caller, RpcFuture
from minitorch_dist.distributed.rpc.members import DeviceNames, WorkerInfo, WorkerTable
from minitorch_dist.distributed.rpc.message import (
    ANSWER,
    FAILURE,
    REQUEST,
    WAKE,
    LostNotice,
    RpcInbox,
    RpcMessage,
    Sender,
)
from minitorch_dist.distributed.rpc.pool import DeadlineThread, Job, WorkerPool, is_ours, runs_job
from minitorch_dist.distributed.rpc.retry import Retry
from minitorch_dist.distributed.rpc.serve import RequestServer
from transports.clock import PICO, Deadline, Thread
from transports.contract import Transport
from transports.errors import TransportClosed
from transports.stores.store import Store

T = TypeVar("T")
_log = logging.getLogger("minitorch_dist.distributed.rpc")


class RpcAgent(RpcInbox):
    """All of one worker.

    A module above keeps its one object for this worker with it (`part`). It enters functions into the agent's
    lists, to be told of events.
    """

    def __init__(self, transport: Transport, me: WorkerInfo, threads: int, timeout: float) -> None:
        super().__init__()
        self.transport, self.clock, self.me = transport, transport.clock, me
        self.timeout = timeout
        self.is_real = not self.clock.is_virtual
        self.trust = trust.of_peers()
        self.workers = WorkerTable([me])
        self.names = DeviceNames(me, {})
        self.is_growing = False  # workers join and leave one by one
        self.first_number = 0  # of our objects; the worker that had our rank before us had others
        self.lost_workers: dict[int, str] = {}
        self.heard: dict[int, int] = {}  # when the last message of each worker came
        self.is_open = False
        self.dropped_refs: deque[Any] = deque()  # noted down by `__del__`
        self.release_dropped_refs: Callable[[], None] = self.dropped_refs.clear
        self.holds_refs: Callable[[], bool] = lambda: False
        self.when_lost: list[Callable[[int, str], None]] = []  # told of each worker that is gone
        self.before_end: list[Callable[[], None]] = []  # of a graceful shutdown: all work is done
        # When all workers have come so far: leaks, in words.
        self.after_end: list[Callable[[], list[str]]] = []
        self.say_goodbye: Callable[[], None] = lambda: None  # to the workers of a world that grows
        self.sign_off: Callable[[], None] = lambda: None  # in the store
        self.own_store: Store | None = None  # to be closed by us
        self._parts: dict[Any, Any] = {}
        self._parts_lock = Lock()
        self._context = copy_context()  # our place, generator and devices: those of our threads too
        self._sender = Sender(transport)
        self.retry = Retry(self, self._sender) if transport.may_lose else None
        self.caller: Caller = Caller(self, self._sender)
        self.server: RequestServer = RequestServer(self, self._sender)
        if self.retry is not None:
            self.caller, self.server = self.retry.caller, self.retry.server
        self.call, self.tell = self.caller.call, self.caller.tell
        self.pool = WorkerPool(self, threads, self.is_real)
        self.deadlines = DeadlineThread(self)

    def begin(self, workers: WorkerTable) -> None:
        """All workers are there: take part."""
        self.workers, self.is_open = workers, True
        self.pool.begin()
        self.deadlines.begin()

    def part(self, kind: Callable[[RpcAgent], T]) -> T:
        """This worker's only object of a class; it is made when it is first asked for."""
        found: T | None = self._parts.get(kind)
        if found is None:
            with self._parts_lock:
                found = self._parts.get(kind)
                if found is None:
                    found = self._parts[kind] = kind(self)
        return found

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

    # ---------------------------------------------------------------------------------- waiting

    def wait_for(self, future: RpcFuture[Any], deadline: Deadline | None = None) -> None:
        """Wait until a future is done; in real time the calling thread drives the transport meanwhile."""
        pool, is_job = self.pool, runs_job.get()
        pool.visits += not is_ours.get()
        if is_job:
            pool.count_as_waiting(1)
        try:
            self._drive_for(future, deadline) if self.is_real else future.settle(deadline)
        finally:
            if is_job:
                pool.count_as_waiting(-1)
            if pool.is_deep:
                pool.wake_driver()

    def _drive_for(self, future: RpcFuture[Any], deadline: Deadline | None) -> None:
        """Drive until the future is done. A function that arrives meanwhile runs in another thread."""
        me, guests = get_ident(), self.pool.guests
        guests.append(future)
        future.waiting.append(me)
        try:
            while self.is_open and not (future.done() or (deadline and deadline.is_over())):
                self.listen(deadline.left() if deadline else None, future.done)
                while (job := self.next_job()) is not None:
                    self.pool.give(job)
        finally:
            future.waiting.remove(me)
            guests.remove(future)

    def rouse(self) -> None:
        """Wake a thread that may wait in the transport for something that has happened elsewhere."""
        self._sender.send_if_there(self.me.id, WAKE, 0)

    def listen(self, timeout: float | None, done: Callable[[], bool] | None = None) -> None:
        """Let the transport deliver, until something has arrived or `done` says yes."""
        try:
            self.transport.progress(timeout, self._has_news if done is None else done)
        except TransportClosed:
            self.is_open = False
            self.caller.close()

    def _has_news(self) -> bool:
        return bool(self.arrived) or not self.is_open

    # ---------------------------------------------------------------------------------- arrivals

    def next_job(self) -> Job | None:
        """Handle the messages that have arrived, until one asks for a function of the user. That is the result."""
        if self.dropped_refs:
            self.release_dropped_refs()
        while self.arrived:
            try:
                message = self.arrived.popleft()
            except IndexError:  # another thread was faster
                return None
            try:
                job = self._dispatch(message)
            except Exception:  # an error of ours, or nonsense from a peer: we go on serving
                _log.exception("a message of worker %d could not be handled", message.src)
                continue
            if job is not None:
                return job
        return None

    def _dispatch(self, message: RpcMessage | LostNotice) -> Job | None:
        if isinstance(message, LostNotice):
            return self._lose(message)
        self.heard[message.src] = self.clock.now()
        if message.kind == REQUEST:
            return self.server.take(message)
        if message.kind in (ANSWER, FAILURE):
            return self.caller.take(message)
        if self.retry is not None:
            self.retry.take(message)
        return None

    def is_stale(self, src: int, kind: int, id: int) -> bool:
        if kind == REQUEST:
            return self.retry is not None and self.retry.server.is_over(src, id)
        return id not in self.caller.calls

    def _lose(self, lost: LostNotice) -> Job | None:
        """A worker is gone: its calls fail at once."""
        src, reason = lost
        if src in self.lost_workers:
            return None
        self.lost_workers[src] = reason
        if self.is_growing:
            self.workers.dismiss(src, reason)
        for listener in list(self.when_lost):
            listener(src, reason)
        return self.caller.lose(src, reason)

    # -------------------------------------------------------------------------------- what is due

    def next_instant(self) -> float:
        """When something is due, in the clock's picoseconds; infinite if nothing is."""
        upcoming = self.caller.calls.next_instant()
        if self.is_real and self.holds_refs():  # dropped references are released twice a second
            return min(upcoming, self.clock.now() + PICO // 2)
        return upcoming

    def do_what_is_due(self) -> None:
        if self.dropped_refs:
            self.release_dropped_refs()
        self.caller.end_overdue(self.pool.give)

    # ------------------------------------------------------------------------------------- closing

    def close(self, patience: float | None = None) -> None:
        """End at once. Calls without an answer fail. Functions that still run are waited for, at most
        `patience` seconds."""
        self.is_open = False
        self.pool.close()
        self.deadlines.close()
        self.transport.close()
        self.caller.close()
        self.pool.join(patience)
        self.deadlines.join()

    def __repr__(self) -> str:
        state = "open" if self.is_open else "closed"
        return f"<RpcAgent of {self.me.name!r}, {state}, {self.caller!r}, {self.pool!r}, {self.transport!r}>"


NOT_INITIALIZED: Final = "RPC has not been initialized. Call torch.distributed.rpc.init_rpc first."


def is_here() -> bool:
    return world.place().rpc_agent is not None


def current() -> RpcAgent:
    """This worker's agent; torch's RuntimeError before `init_rpc`."""
    agent: RpcAgent | None = world.place().rpc_agent
    if agent is None:
        raise RuntimeError(NOT_INITIALIZED)
    return agent
