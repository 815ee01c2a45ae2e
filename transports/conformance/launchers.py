"""Two ways to run a program on every rank: threads of this process, or processes of their own."""

from __future__ import annotations

import multiprocessing
import os
import signal
import tempfile
from collections.abc import Callable
from contextlib import closing
from functools import partial
from multiprocessing.connection import Connection
from typing import Any, NoReturn, TypeAlias

from transports.clock import SYSTEM, Clock, Deadline
from transports.conformance.bench import End
from transports.contract import Transport
from transports.stores.store import HashStore, PrefixStore
from transports.stores.tcp import TCPStore

START_METHOD = "spawn"  # multiprocessing's

Program: TypeAlias = Callable[[End], Any]
Launch: TypeAlias = Callable[[int, Program], list[Any]]
Make: TypeAlias = Callable[[int, int, str], Transport]  # rank, world size, a folder of this world


class _Death(BaseException):
    """Ends a thread as a crash would: nothing is closed."""


def _end_thread() -> NoReturn:
    raise _Death


def in_threads(make: Make, clock: Clock = SYSTEM) -> Launch:
    """Ranks are threads. `make(rank, world_size, folder)` makes a transport; the folder is empty."""

    def launch(world_size: int, program: Program) -> list[Any]:
        store, results = HashStore(clock), [None] * world_size
        crashes: list[BaseException] = []

        def run(rank: int, folder: str) -> None:
            end = End(rank, world_size, lambda: make(rank, world_size, folder), store, _end_thread)
            try:
                results[rank] = program(end)
            except _Death:
                pass
            except BaseException as crash:
                crashes.append(crash)

        with _folder() as folder:
            threads = [clock.start(partial(run, r, folder), f"rank {r}") for r in range(world_size)]
            for thread in threads:
                thread.join()
        if crashes:
            raise crashes[0]
        return results

    return launch


def in_processes(make: Make, patience: float = 600.0) -> Launch:
    """Ranks are fresh processes that meet through a TCPStore of this one.

    `make` is a function of a module, so that a new process can import it. A rank that has not answered
    after `patience` seconds, because it hangs or was stopped, is ended. TimeoutError names it.
    """

    def launch(world_size: int, program: Program) -> list[Any]:
        context: Any = multiprocessing.get_context(START_METHOD)
        ranks: list[tuple[Any, Connection]] = []
        store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
        with closing(store), _folder() as folder:
            try:
                for rank in range(world_size):
                    ours, theirs = context.Pipe(duplex=False)
                    given = theirs, make, program, rank, world_size, folder, store.port, dict(os.environ)
                    process = context.Process(target=_in_process, args=given)
                    process.start()
                    theirs.close()
                    ranks.append((process, ours))
                deadline = SYSTEM.deadline(patience)
                return [_result(pipe, rank, deadline) for rank, (_, pipe) in enumerate(ranks)]
            except TimeoutError:
                for process, _ in ranks:
                    process.kill()
                raise
            finally:
                for process, pipe in ranks:
                    _end(process, pipe)

    return launch


def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="conformance-", ignore_cleanup_errors=True)


def _end(process: Any, pipe: Connection) -> None:
    pipe.close()
    process.join(10)
    process.kill()
    process.join()
    process.close()


def _result(pipe: Connection, rank: int, deadline: Deadline) -> Any:
    if not pipe.poll(deadline.left()):
        raise TimeoutError(f"rank {rank} has said nothing for {deadline.seconds} s, and was ended")
    try:
        return pipe.recv()
    except EOFError:  # the process has died
        return None


def _in_process(
    pipe: Connection,
    make: Make,
    program: Program,
    rank: int,
    world_size: int,
    folder: str,
    port: int,
    environment: dict[str, str],
) -> None:
    os.environ.update(environment)  # a fork server's children have that of its beginning
    with closing(TCPStore("127.0.0.1", port, wait_for_workers=False)) as store, pipe:
        own = PrefixStore("conformance", store)
        pipe.send(program(End(rank, world_size, lambda: make(rank, world_size, folder), own, _kill_process)))


def _kill_process() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("a killed process goes on")
