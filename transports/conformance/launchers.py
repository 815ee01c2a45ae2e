"""A way to run a program on every rank: threads of this process."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn, TypeAlias

from transports.clock import SYSTEM, Clock
from transports.conformance.bench import End
from transports.contract import Transport
from transports.stores import HashStore

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
