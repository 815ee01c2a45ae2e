"""A worker that is late is ended, by a watchman beside it."""

from __future__ import annotations

import multiprocessing
import signal
import sys
from typing import Any

from minitorch_dist.distributed.elastic import timer
from transports.clock import SystemClock


def late(queue: Any, seconds: float, stays: float) -> None:
    timer.configure(timer.LocalTimerClient(queue))
    with timer.expires(after=60):
        pass
    with timer.expires(after=seconds, scope="step"):
        SystemClock().sleep(stays)
    sys.exit(3)


def test_who_is_late_is_killed_and_who_is_not_goes_on() -> None:
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    server = timer.LocalTimerServer(queue, max_interval=0.05)
    workers = [
        context.Process(target=late, args=(queue, *how)) for how in ((0.01, 600.0), (600.0, 0.0))
    ]
    for worker in workers:
        worker.start()
    server.start()
    assert "watching" in repr(server)
    try:
        for worker in workers:
            worker.join()
    finally:
        server.stop()
        queue.close()
        queue.join_thread()
    assert [worker.exitcode for worker in workers] == [-signal.SIGKILL, 3]
    for worker in workers:
        worker.close()
    assert "not started" in repr(server)
