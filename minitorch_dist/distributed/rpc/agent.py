"""One worker's agent: its caller, its server and its threads are put together here.

    caller          our calls: write ─► send ────────► arrived ─► next_job ─► server   run, answer
                    wait ◄── read ◄── next_job ◄── arrived ◄──────────────────────┘
    worker pool     decides which thread does it: a thread that waits for an answer drives the transport,
                    and a function runs in the thread that received its request.

The deadline thread (in `pool`) wakes when something is due, and when a function runs for long in the driver's thread.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock  # noqa: TID251 - guards the parts; nothing waits in here
from typing import Any, Final, TypeVar

from minitorch_dist.distributed import world
from minitorch_dist.distributed.rpc.call import Caller
from minitorch_dist.distributed.rpc.members import WorkerInfo, WorkerTable
from minitorch_dist.distributed.rpc.message import ANSWER, FAILURE, LOST, REQUEST, LostNotice
from minitorch_dist.distributed.rpc.pool import WorkerPool
from minitorch_dist.distributed.rpc.serve import RequestServer
from minitorch_dist.distributed.rpc.worker import RpcWorker
from transports.clock import PICO
from transports.contract import Transport
from transports.stores.store import Store

T = TypeVar("T")


class RpcAgent(RpcWorker):
    """All of one worker.

    A module above keeps its one object for this worker with it (`part`). It enters functions into the agent's
    lists, to be told of events.
    """

    def __init__(self, transport: Transport, me: WorkerInfo, threads: int, timeout: float) -> None:
        super().__init__(transport, me, timeout)
        self.lost_workers: dict[int, str] = {}
        self.holds_refs: Callable[[], bool] = lambda: False
        self.when_lost: list[Callable[[int, str], None]] = []  # told of each worker that is gone
        self.before_end: list[Callable[[], None]] = []  # of a graceful shutdown: all work is done
        self.after_end: list[Callable[[], None]] = []  # when all workers have come so far
        self.sign_off: Callable[[], None] = lambda: None  # in the store
        self.own_store: Store | None = None  # to be closed by us
        self._parts: dict[Any, Any] = {}
        self._parts_lock = Lock()
        self.pool = WorkerPool(self, threads)
        self.caller, self.server = Caller(self, self.pool), RequestServer(self)
        self.call, self.ask, self.tell = self.caller.call, self.caller.ask, self.caller.tell
        self.when_closed = self.caller.close
        self.takers = {REQUEST: self.server.take, ANSWER: self.caller.take, FAILURE: self.caller.take, LOST: self._lose}

    def begin(self, workers: WorkerTable) -> None:
        """All workers are there: take part."""
        self.workers, self.is_open = workers, True
        self.pool.begin(self.next_instant, self.do_what_is_due)

    def part(self, kind: Callable[[RpcAgent], T]) -> T:
        """This worker's only object of a class; it is made when it is first asked for."""
        with self._parts_lock:
            if kind not in self._parts:
                self._parts[kind] = kind(self)
            return self._parts[kind]  # type: ignore[no-any-return]

    # ---------------------------------------------------------------------------------- arrivals

    def _lose(self, lost: LostNotice) -> None:
        """A worker is gone: its calls fail at once."""
        src, reason = lost.src, lost.reason
        if src not in self.lost_workers:
            self.lost_workers[src] = reason
            for listener in list(self.when_lost):
                listener(src, reason)
            self.caller.lose(src, reason)

    # -------------------------------------------------------------------------------- what is due

    def next_instant(self) -> float:
        """When something is due, in the clock's picoseconds; infinite if nothing is."""
        upcoming = self.caller.next_instant()
        if self.is_real and self.holds_refs():  # dropped references are released twice a second
            return min(upcoming, self.clock.now() + PICO // 2)
        return upcoming

    def do_what_is_due(self) -> None:
        if self.dropped_refs:
            self.release_dropped_refs()
        self.caller.end_overdue()

    # ------------------------------------------------------------------------------------- closing

    def close(self, patience: float | None = None) -> None:
        """End at once. Calls without an answer fail. Functions that still run are waited for, at most
        `patience` seconds."""
        self.is_open = False
        self.pool.close()
        self.transport.close()
        self.caller.close()
        self.pool.join(patience)

    def __repr__(self) -> str:
        state = "open" if self.is_open else "closed"
        return f"<RpcAgent of {self.me.name!r}, {state}, {self.caller!r}, {self.pool!r}, {self.transport!r}>"


NOT_INITIALIZED: Final = "RPC has not been initialized. Call torch.distributed.rpc.init_rpc first."


def current() -> RpcAgent:
    """This worker's agent; torch's RuntimeError before `init_rpc`."""
    agent: RpcAgent | None = world.place().rpc_agent
    if agent is None:
        raise RuntimeError(NOT_INITIALIZED)
    return agent
