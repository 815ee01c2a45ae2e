"""Simulate several layouts or steps at once, each in a process of its own.

A simulation runs one rank at a time, so one process keeps one core busy. They know nothing of each other.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import resource_tracker
from typing import TypeVar

from minitorch_dist.multiprocessing import ending
from mtd.planning.search import PlanRow

T = TypeVar("T")


class ProcessEnded(Exception):
    """A process that simulated was ended from outside."""


def simulate(
    one: Callable[[T], PlanRow], wanted: Callable[[], Sequence[T]], processes: int
) -> Iterator[tuple[T, PlanRow]]:
    """Each of those that are `wanted` with its row, in the order in which they are done. After each it asks again, and ends when
    none is wanted any more."""
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(processes, context, _begin)
    running: dict[Future[PlanRow], T] = {}
    try:
        while left := wanted():
            waiting = [each for each in left if each not in running.values()]
            for each in waiting[: processes - len(running)]:
                with _uninterrupted():
                    running[pool.submit(one, each)] = each
            for done in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(done), done.result()
    except BrokenProcessPool:
        raise ProcessEnded("a process that simulated was ended from outside, perhaps for want of memory") from None
    finally:  # some may be wanted no more, and the reader may stop early: Ctrl-C
        for process in multiprocessing.active_children():
            process.terminate()
        pool.shutdown(cancel_futures=True)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Ctrl-C reaches processes of this terminal, too. Those that begin in here do not hear it, not even while they
    import; this one hears it afterwards, and ends them."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    resource_tracker.ensure_running()  # it would let the signal through again
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _begin() -> None:
    """In each process. It ends with the first one, also after its `kill -9`."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    ending.die_with_parent()
