"""A world whose ranks are processes of this host; they find each other through our store.

we ── spawn ──► rank 0 … n-1           a pipe to each: the function down, result or failure up
TCPStore  ◄──── all ranks
"""

from __future__ import annotations

import os
import pickle
import signal
from collections.abc import Callable
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

from minitorch_dist.distributed import bootstrap, world
from minitorch_dist.distributed.exceptions import PeerFailed, PeerLost
from minitorch_dist.distributed.journal import files
from minitorch_dist.launching import cores, limit as limits, ranks
from minitorch_dist.multiprocessing import ending, sigint, sources
from minitorch_dist.multiprocessing.process_pool import ProcessPool
from minitorch_dist.tensors import generator
from transports import job
from transports.clock import SYSTEM, Deadline
from transports.stores.tcp import TCPStore

START_METHOD = "spawn"  # multiprocessing's, unless one is asked for
GRACE = 5.0  # seconds that a process has to end by itself when all is well,
NOTICE = 3.0  # when a rank has failed: the others notice, say so and end, or are ended,
HASTE = 1.0  # and when somebody is in a hurry (Ctrl-C)


class LaunchOrder(NamedTuple):
    """The orders for a rank's process."""

    rank: int
    world_size: int
    transport: str
    port: int
    timeout: timedelta
    random_state: generator.Generator
    journal: str
    limit: float | None  # seconds of the whole run, which has begun
    begun: int  # at this instant of the host's clock
    call: bytes  # pickled: the function with its arguments


SYMPTOMS = (PeerLost, PeerFailed, limits.OutOfTime)  # of which others may tell more


def run(
    called: Callable[[], Any],
    world_size: int,
    transport: str,
    timeout: timedelta,
    journal: Path | None = None,
    limit: float | None = None,
    start_method: str | None = None,
) -> list[Any]:
    """The results by rank, or the exception of the first rank that failed."""
    if journal is not None:
        files.begin_anew(journal)
    where = "" if journal is None else str(journal)
    begun = SYSTEM.now()
    call = sources.packed(called)
    drawn = job.draw()
    ours = job.here(world_size, value=drawn)
    store = TCPStore("127.0.0.1", 0, is_master=True, timeout=timeout, of=ours)
    pool: ProcessPool | None = None
    patience = HASTE
    try:
        state = generator.current()
        orders = [
            LaunchOrder(rank, world_size, transport, store.port, timeout, state, where, limit, begun, call)
            for rank in range(world_size)
        ]
        pool = ProcessPool(_serve, orders, start_method or START_METHOD, name="rank", variables={job.VARIABLE: drawn})
        results = _collect(pool, world_size, transport, limit)
        patience = GRACE
        return results
    except Exception:
        patience = NOTICE
        raise
    finally:
        if pool is not None:
            pool.end(((None, patience), (signal.SIGTERM, patience), (signal.SIGKILL, None)))
            pool.close()
        store.close()
        if journal is not None:
            files.merge(journal)


def _collect(pool: ProcessPool, size: int, transport: str, limit: float | None) -> list[Any]:
    """All results; or raise why there are not all. That is the failure which came first: that a
    rank lost its peer only follows from what happened to the peer, which may be heard of later."""
    results: dict[int, Any] = {}
    failures: list[BaseException] = []
    waiting = set(range(size))
    deadline: Deadline | None = None  # from the first failure on
    end = None if limit is None else SYSTEM.deadline(limit + limits.GRACE)
    late: dict[int, str] = {}  # where ranks stood when the time was over
    while waiting and not (deadline is not None and deadline.is_over()):
        if end is not None and end.is_over():
            break
        first = min(filter(None, (deadline, end)), key=lambda one: one.left() or 0.0, default=None)
        for rank in pool.news(None if first is None else first.left()):
            if rank not in waiting:
                continue  # it had reported, and has ended now
            report, where = pool.reports.get(rank), f"(in rank {rank} of {size}, a process over {transport})"
            if report is None:
                if pool.exitcode(rank) is None:
                    continue  # its pipe has ended, and it will in a moment
                how = ending.words(pool.exitcode(rank))
                failures.append(ranks.RankFailed(f"the process {how} before it had a result {where}"))
            elif report.error is not None:
                failure = report.error.again(where, ranks.RankFailed)
                failures.append(failure)
                if isinstance(failure, limits.OutOfTime):
                    late[rank] = failure.where
            else:
                results[rank] = pickle.loads(report.result or b"")
            waiting.discard(rank)
        causes = [error for error in failures if not isinstance(error, SYMPTOMS)]
        if causes:
            raise causes[0]
        if failures and deadline is None:
            deadline = SYSTEM.deadline(HASTE)
    if limit is not None and (late or (end is not None and end.is_over())):
        stood = [None if rank in results else late.get(rank, "") for rank in range(size)]
        raise limits.report(limit, stood)
    if failures:
        raise failures[0]
    return [results[rank] for rank in range(size)]


# -------------------------------------------------------------------------------- in the process


def _serve(order: LaunchOrder, at_end: ExitStack) -> Any:
    sigint.ignore_sigint()  # Ctrl-C is for who launched us; he ends us
    os.environ.update(
        RANK=str(order.rank),
        WORLD_SIZE=str(order.world_size),
        LOCAL_RANK=str(order.rank),
        LOCAL_WORLD_SIZE=str(order.world_size),
        MASTER_ADDR="127.0.0.1",
        MASTER_PORT=str(order.port),
    )
    place = world.place()
    mine = job.here(order.world_size, order.rank)
    store = TCPStore("127.0.0.1", order.port, timeout=order.timeout, of=mine)
    at_end.callback(store.close)
    place.given.update(
        rank=order.rank, world_size=order.world_size, store=store, address=order.transport, journal=order.journal
    )
    called = pickle.loads(order.call)
    at_end.callback(ranks.end, place)
    at_end.enter_context(cores.shared(order.world_size))
    try:
        with limits.alarmed(order.limit, order.begun):
            return ranks.run(place, order.random_state, order.timeout, called)
    except Exception as error:
        bootstrap.confess(error)
        raise
