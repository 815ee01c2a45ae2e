"""A world whose ranks are processes of this host; they find each other through our store.

we ── spawn ──► rank 0 … n-1           a pipe to each: the function down, result or failure up
TCPStore  ◄──── all ranks
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import pickle
import signal
import traceback
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, NamedTuple

from minitorch_dist.distributed import world
from minitorch_dist.distributed.exceptions import PeerFailed, PeerLost
from minitorch_dist.launching import ranks, sources
from minitorch_dist.tensors import generator
from transports.clock import SYSTEM, Deadline
from transports.tcp_store import TCPStore

GRACE = 5.0  # seconds that a process has to end by itself when all is well,
HASTE = 1.0  # and when a rank has failed: the others notice, say so and end, or are ended


class Order(NamedTuple):
    """What a rank's process is told."""

    rank: int
    world_size: int
    transport: str
    port: int
    timeout: timedelta
    random_state: generator.Generator
    call: bytes  # pickled: what makes the function, args, kwargs


class Report(NamedTuple):
    """What it answers."""

    result: bytes | None  # pickled
    error: bytes | None  # pickled, if it can be
    text: str  # the traceback


class RankFailed(RuntimeError):
    """A rank's process ended without a result, or with an exception that cannot be sent."""


def run(
    fn: Callable[..., Any],
    world_size: int,
    transport: str,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    timeout: timedelta,
) -> list[Any]:
    """The results by rank, or the exception of the first rank that failed."""
    call = pickle.dumps((sources.packed(fn), tuple(args), dict(kwargs)))
    context = multiprocessing.get_context("spawn")
    store = TCPStore("127.0.0.1", 0, is_master=True, timeout=timeout)
    processes: list[Any] = []
    pipes: list[Any] = []
    patience = HASTE
    try:
        for rank in range(world_size):
            ours, theirs = context.Pipe()
            order = Order(
                rank, world_size, transport, store.port, timeout, generator.current(), call
            )
            process = context.Process(
                target=_serve, args=(theirs, order), name=f"rank {rank}", daemon=True
            )
            process.start()
            theirs.close()
            processes.append(process)
            pipes.append(ours)
        results = _collect(processes, pipes, world_size, transport)
        patience = GRACE
        return results
    finally:
        _end(processes, patience)
        for pipe in pipes:
            pipe.close()
        store.close()


def _collect(processes: list[Any], pipes: list[Any], size: int, transport: str) -> list[Any]:
    """All results; or raise why there are not all. That is the failure which came first: that a
    rank lost its peer only follows from what happened to the peer, which may be heard of later."""
    results: dict[int, Any] = {}
    failures: list[BaseException] = []
    waiting = dict(zip(pipes, range(size), strict=True))
    deadline: Deadline | None = None  # from the first failure on
    while waiting and not (deadline is not None and deadline.is_over()):
        limit = None if deadline is None else deadline.left()
        ready: list[Any] = list(multiprocessing.connection.wait(list(waiting), limit))
        for pipe in ready:
            rank = waiting.pop(pipe)
            try:
                results[rank] = _result(
                    pipe, processes[rank], f"(in rank {rank} of {size}, a process over {transport})"
                )
            except BaseException as error:
                failures.append(error)
        causes = [error for error in failures if not isinstance(error, PeerLost | PeerFailed)]
        if causes:
            raise causes[0]
        if failures and deadline is None:
            deadline = SYSTEM.deadline(HASTE)
    if failures:
        raise failures[0]
    return [results[rank] for rank in range(size)]


def _result(pipe: Any, process: Any, where: str) -> Any:
    try:
        report = pipe.recv()
    except EOFError:
        raise RankFailed(_ended(process, where)) from None
    if report.result is None:
        raise _failure(report, where)
    return pickle.loads(report.result)


def _failure(report: Report, where: str) -> BaseException:
    """The exception of a rank, with the traceback it had there."""
    error: BaseException | None = None
    if report.error is not None:
        try:
            error = pickle.loads(report.error)
        except Exception:  # its class wants other arguments
            error = None
    if not isinstance(error, BaseException):
        error = RankFailed(f"a rank failed:\n{report.text}")
    error.add_note(f"{where}\n{report.text}")
    return error


def _ended(process: Any, where: str) -> str:
    process.join(GRACE)
    code = process.exitcode
    if code is not None and code < 0:
        why = f"was ended by {signal.Signals(-code).name}"
    else:
        why = f"ended with exit code {code}"
    return f"the process {why} before it had a result {where}"


def _end(processes: list[Any], patience: float) -> None:
    """Return when all have ended: by themselves, else asked to, else killed."""
    for means in ("join", "terminate", "kill"):
        deadline = SYSTEM.deadline(patience)
        for process in processes:
            if process.is_alive():
                if means == "terminate":
                    process.terminate()
                elif means == "kill":
                    process.kill()
                process.join(None if means == "kill" else deadline.left())
    for process in processes:
        process.close()


# -------------------------------------------------------------------------------- in the process


def _serve(pipe: Any, order: Order) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for who launched us; he ends us
    os.environ.update(
        RANK=str(order.rank), WORLD_SIZE=str(order.world_size), LOCAL_RANK=str(order.rank),
        LOCAL_WORLD_SIZE=str(order.world_size), MASTER_ADDR="127.0.0.1",
        MASTER_PORT=str(order.port),
    )  # fmt: skip
    place = world.place()
    store: TCPStore | None = None
    try:
        store = TCPStore("127.0.0.1", order.port, timeout=order.timeout)
        place.given.update(
            rank=order.rank, world_size=order.world_size, local_rank=order.rank, store=store,
            address=order.transport,
        )  # fmt: skip
        packed, args, kwargs = pickle.loads(order.call)
        result = ranks.run(
            place, order.random_state, order.timeout, sources.unpacked(packed), args, kwargs
        )
        report = Report(pickle.dumps(result), None, "")
    except BaseException as error:
        text = traceback.format_exc()
        try:
            said = pickle.dumps(error)
        except Exception:  # it holds something that cannot be sent
            said = None
        report = Report(None, said, text)
    try:
        pipe.send(report)
        ranks.end(place)
    finally:
        if store is not None:
            store.close()
        pipe.close()
