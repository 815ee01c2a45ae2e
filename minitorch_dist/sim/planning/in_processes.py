"""Simulate several layouts at once, each in a process of its own.

A simulation runs one rank at a time, so one process keeps one core busy. Layouts know nothing of each other.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool

from minitorch_dist.sim.planning import search
from minitorch_dist.sim.planning.clusters import GpuCluster
from minitorch_dist.sim.planning.layouts import TrainingLayout
from minitorch_dist.sim.planning.model_files import ModelSizes
from minitorch_dist.sim.planning.search import PlanRow


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
    pool = ProcessPoolExecutor(processes, context, _die_when_interrupted)
    running: dict[Future[PlanRow], TrainingLayout] = {}
    try:
        while layouts := wanted():
            waiting = [each for each in layouts if each not in running.values()]
            for layout in waiting[: processes - len(running)]:
                running[pool.submit(search.simulated, model, layout, cluster)] = layout
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


def _die_when_interrupted() -> None:
    """Ctrl-C reaches these processes too; the first one answers it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
