"""A world whose ranks are threads of this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from types import MethodType
from typing import Any

from minitorch_dist.distributed import world
from minitorch_dist.distributed.journal import files
from minitorch_dist.launching import (
    callers,
    chance,
    collector,
    cores,
    limit as limits,
    ranks,
    replacements,
    standard_locks,
)
from minitorch_dist.multiprocessing import lines
from minitorch_dist.tensors import generator
from transports.clock import SYSTEM, Clock, Deadline, Thread
from transports.stores.store import HashStore


def run(
    called: Callable[[], Any],
    world_size: int,
    transport: str,
    timeout: timedelta,
    clock: Clock,
    journal: Path | None = None,
    limit: float | None = None,
) -> list[Any]:
    """The results by rank, or the exception of the first rank that failed."""
    if journal is not None:
        files.begin_anew(journal)
    with ExitStack() as around:
        sheet = None if journal is None else files.Sheet(journal)
        if sheet is not None:
            around.callback(sheet.close)
        around.enter_context(cores.shared(world_size if clock is SYSTEM else 1))
        around.enter_context(collector.shared(world_size))
        if clock is not SYSTEM:  # in virtual time one rank runs at a time
            around.enter_context(replacements.kept_out())
            around.enter_context(standard_locks.given((called,), callers.is_users))
        around.enter_context(lines.whole_lines(world.place))
        return _run(called, world_size, transport, timeout, clock, sheet, limit)


def _run(
    called: Callable[[], Any],
    world_size: int,
    transport: str,
    timeout: timedelta,
    clock: Clock,
    sheet: files.Sheet | None,
    limit: float | None,
) -> list[Any]:
    store = HashStore(clock, timeout)
    places = [ranks.place_for(rank, world_size, transport, store, clock, sheet) for rank in range(world_size)]
    results: list[Any] = [None] * world_size
    failures: list[tuple[int, BaseException]] = []
    random_state = generator.current()

    def one(rank: int) -> None:
        place = places[rank]
        with world.StandingIn(place):
            try:
                begin = random_state.clone_state() if clock is SYSTEM else chance.stream(random_state)
                results[rank] = ranks.run(place, begin, timeout, called)
            except BaseException as error:
                failures.append((rank, error))
                end_others(places)
            finally:
                ranks.end(place)
                lines.end_line()

    threads = [clock.start(MethodType(one, rank), f"rank {rank}") for rank in range(world_size)]
    deadline = clock.deadline(limit if clock is SYSTEM else None)
    try:
        for thread in threads:
            thread.join(deadline.left())
            if thread.is_alive() and not failures:
                raise _out_of_time(deadline, threads)
    except limits.OutOfTime:
        end_others(places)
        for thread in threads:
            thread.join(0.1)
        raise
    except BaseException:  # Ctrl-C: nobody stays behind
        end_others(places)
        for thread in threads:
            thread.join()
        raise
    if failures:
        rank, error = failures[0]
        error.add_note(f"(in rank {rank} of {world_size}, a thread over {transport})")
        raise error
    return results


def _out_of_time(deadline: Deadline, threads: Sequence[Thread]) -> limits.OutOfTime:
    found = limits.places_of(threads)
    assert deadline.seconds is not None
    return limits.report(
        deadline.seconds, [where if each.is_alive() else None for each, where in zip(threads, found, strict=True)]
    )


def end_others(places: Sequence[world.WorldScope]) -> None:
    """A rank that waits for a message waits in vain from now on, and notices it."""
    for place in places:
        here = place.world
        if here is not None:
            here.transport.close()
        for interrupt in list(place.interrupts):
            interrupt()
