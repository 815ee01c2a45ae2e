"""Simulate several layouts at once, each in a process of its own.

A simulation runs one rank at a time, so one process keeps one core busy. Layouts know nothing of each other.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import resource_tracker

from minitorch_dist.multiprocessing import ending
from mtd.planning import search
from mtd.planning.clusters import GpuCluster
from mtd.planning.layouts import TrainingLayout
from mtd.planning.model_files import ModelSizes
from mtd.planning.search import PlanRow


class ProcessEnded(Exception):
    """A process that simulated was ended from outside."""


def simulate(
    model: ModelSizes,
    cluster: GpuCluster,
    wanted: Callable[[], list[TrainingLayout]],
    processes: int,
) -> Iterator[PlanRow]:
    """The simulated rows of the layouts that are `wanted`, in the order in which they are done. After each it asks
    again, and ends when none is wanted any more."""
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(processes, context, _begin)
    running: dict[Future[PlanRow], TrainingLayout] = {}
    try:
        while layouts := wanted():
            waiting = [each for each in layouts if each not in running.values()]
            for layout in waiting[: processes - len(running)]:
                with _uninterrupted():
                    future = pool.submit(search.simulated, model, layout, cluster)
                running[future] = layout
            for done in wait(running, return_when=FIRST_COMPLETED).done:
                del running[done]
                yield done.result()
    except BrokenProcessPool:
        raise ProcessEnded(
            "a process that simulated was ended from outside, perhaps for want of memory"
        ) from None
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
