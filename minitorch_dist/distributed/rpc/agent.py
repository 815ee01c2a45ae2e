"""One worker: all that it is made of, and the way of whatever arrives.

    caller   our calls: write ─► send ─────────► whole ─► next_job ─► server   run, answer
             wait ◄── read ◄── next_job ◄── whole ◄─────────────────────┘
    crew     which thread does it: who waits drives, and a function runs where its request arrived
    watchman wakes when something is due, and when somebody drives for too long

`whole` is called by the transport, from any thread, and only puts the message into `_arrived`; who
drives takes it from there (`next_job`).
"""

from __future__ import annotations

import logging
from _thread import get_ident
from collections import deque
from collections.abc import Callable
from contextvars import copy_context
from typing import Any, Final

from minitorch_dist.distributed import world
from minitorch_dist.distributed.rpc import frames
from minitorch_dist.distributed.rpc.calling import Caller
from minitorch_dist.distributed.rpc.calls import RpcFuture
from minitorch_dist.distributed.rpc.crew import Crew, Job, is_ours
from minitorch_dist.distributed.rpc.errors import NOT_INITIALIZED
from minitorch_dist.distributed.rpc.frames import DONE, PROBE, REQUEST, WAKE, Lost, Message
from minitorch_dist.distributed.rpc.post import Post
from minitorch_dist.distributed.rpc.serving import Server
from minitorch_dist.distributed.rpc.watch import Watchman
from minitorch_dist.distributed.rpc.workers import WorkerInfo, Workers
from minitorch_dist.distributed.rpc.writing import DeviceNames
from transports.clock import PICO, Deadline, SystemClock, Thread
from transports.contract import Transport
from transports.errors import TransportClosed

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
        self.is_open = False
        self.litter: deque[Any] = deque()  # what `__del__` has noted down
        self.sweep: Callable[[], None] = self.litter.clear
        self.extras: dict[str, Any] = {}
        self._context = copy_context()  # our place, generator and devices: those of our threads too
        self._arrived: deque[Message | Lost] = deque()
        self._post = Post(transport, self.may_lose)
        self.caller, self.server = Caller(self, self._post), Server(self, self._post)
        self.call, self.tell = self.caller.call, self.caller.tell
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
        self._post.send_if_there(self.me.id, WAKE, 0)

    def listen(self, timeout: float | None, done: Callable[[], bool] | None = None) -> None:
        try:
            self.transport.progress(timeout, self._has_news if done is None else done)
        except TransportClosed:
            self.is_open = False
            self.caller.close()

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
        return not self.caller.is_waited_for(id)

    def next_job(self) -> Job | None:
        """Deal with what has arrived, until something of the user's is to be run."""
        self.tidy()
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
        if message.kind in (REQUEST, PROBE, DONE):
            return self.server.take(message)
        return self.caller.take(message)

    def _lose(self, lost: Lost) -> Job | None:
        """A worker is gone: its calls fail at once."""
        src, reason = lost
        if src in self.lost_workers:
            return None
        self.lost_workers[src] = reason
        self.server.forget(src)
        if self.is_growing:
            self.workers.dismiss(src, reason)
        for listener in list(self.extras.get("when_lost", ())):
            listener(src, reason)
        return self.caller.lose(src, reason)

    # -------------------------------------------------------------------------------- what is due

    def tidy(self) -> None:
        if self.litter:
            self.sweep()

    def visit(self) -> None:
        self.crew.visit()

    def alert(self) -> None:
        self.watchman.alert()

    def expect(self, instant: int) -> None:
        self.watchman.expect(instant)

    def next_instant(self) -> int | None:
        upcoming = self.caller.next_instant()
        if self.is_real and (book := self.extras.get("rrefs")) is not None and not book.is_empty():
            soon = self.clock.now() + PICO // 2  # garbage is looked for twice a second
            return soon if upcoming is None else min(upcoming, soon)
        return upcoming

    def do_what_is_due(self) -> None:
        self.tidy()
        self.caller.end_overdue(self.crew.give)

    # ------------------------------------------------------------------------------------- closing

    def close(self, patience: float | None = None) -> None:
        """End at once. What is not answered fails. Functions that still run are waited for, for so
        many seconds."""
        self.is_open = False
        self.crew.close()
        self.watchman.close()
        self.transport.close()
        self.caller.close()
        self.crew.join(patience)
        self.watchman.join()

    def __repr__(self) -> str:
        state = "open" if self.is_open else "closed"
        return f"<Agent of {self.me.name!r}, {state}, {self.caller!r}, {self.crew!r}, {self.transport!r}>"


KEY: Final = "rpc"


def is_here() -> bool:
    return KEY in world.place().extras


def current() -> Agent:
    """This worker's agent; torch's RuntimeError before `init_rpc`."""
    agent = world.place().extras.get(KEY)
    if agent is None:
        raise RuntimeError(NOT_INITIALIZED)
    return agent  # type: ignore[no-any-return]
