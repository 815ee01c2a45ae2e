"""Two ways to run a program on every rank: threads of this process, or processes of their own."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import tempfile
from collections.abc import Callable
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
        folder = tempfile.mkdtemp(prefix="conformance-")
        store, results = HashStore(clock), [None] * world_size
        crashes: list[BaseException] = []

        def run(rank: int) -> None:
            end = End(rank, world_size, lambda: make(rank, world_size, folder), store, _end_thread)
            try:
                results[rank] = program(end)
            except _Death:
                pass
            except BaseException as crash:
                crashes.append(crash)

        try:
            threads = [clock.start(partial(run, r), f"rank {r}") for r in range(world_size)]
            for thread in threads:
                thread.join()
        finally:
            shutil.rmtree(folder, ignore_errors=True)
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
        folder = tempfile.mkdtemp(prefix="conformance-")
        store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
        processes, pipes = [], []
        try:
            for rank in range(world_size):
                ours, theirs = context.Pipe(duplex=False)
                process = context.Process(
                    target=_in_process,
                    args=(theirs, make, program, rank, world_size, folder, store.port, dict(os.environ)),
                )
                process.start()
                theirs.close()
                processes.append(process)
                pipes.append(ours)
            deadline = SYSTEM.deadline(patience)
            return [_result(pipe, rank, deadline) for rank, pipe in enumerate(pipes)]
        except TimeoutError:
            for process in processes:
                process.kill()
            raise
        finally:
            for process, pipe in zip(processes, pipes, strict=True):
                pipe.close()
                process.join(10)
                process.kill()
                process.join()
                process.close()
            store.close()
            shutil.rmtree(folder, ignore_errors=True)

    return launch


def _result(pipe: Connection, rank: int, deadline: Deadline) -> Any:
    if not pipe.poll(deadline.left()):
        raise TimeoutError(f"rank {rank} has said nothing for {deadline.seconds} s, and was ended")
    try:
        return pipe.recv()
    except EOFError:  # the process has died
        return None


def _in_process(
    pipe: Connection, make: Make, program: Program, rank: int, world_size: int, folder: str, port: int,
    environment: dict[str, str],
) -> None:  # fmt: skip
    os.environ.update(environment)  # a fork server's children have that of its beginning
    store = TCPStore("127.0.0.1", port, wait_for_workers=False)
    end = End(
        rank, world_size, lambda: make(rank, world_size, folder),
        PrefixStore("conformance", store), _kill_process,
    )  # fmt: skip
    pipe.send(program(end))
    pipe.close()
    store.close()


def _kill_process() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("a killed process goes on")
