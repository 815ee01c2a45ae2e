"""Timers of processes of one host, over a queue of `multiprocessing`; a worker is its process id."""

from __future__ import annotations

import os
import signal
from queue import Empty  # noqa: TID251 - what a queue of multiprocessing raises
from typing import Any

from minitorch_dist.distributed.elastic.timer.api import (
    RequestQueue,
    TimerClient,
    TimerRequest,
    TimerServer,
)
from transports.clock import Deadline, SystemClock


class LocalTimerClient(TimerClient):
    """Tells the `LocalTimerServer` at the other end of the queue."""

    def __init__(self, mp_queue: Any) -> None:
        self._mp_queue = mp_queue

    def acquire(self, scope_id: str, expiration_time: float) -> None:
        self._mp_queue.put(TimerRequest(os.getpid(), scope_id, expiration_time))

    def release(self, scope_id: str) -> None:
        self._mp_queue.put(TimerRequest(os.getpid(), scope_id, -1))


class MultiprocessingRequestQueue(RequestQueue):
    """A queue of `multiprocessing`."""

    def __init__(self, mp_queue: Any) -> None:
        self._mp_queue = mp_queue

    def size(self) -> int:
        return int(self._mp_queue.qsize())

    def get(self, size: int, timeout: float) -> list[TimerRequest]:
        found: list[TimerRequest] = []
        deadline = Deadline(SystemClock(), timeout)
        while len(found) < size:
            try:
                found.append(self._mp_queue.get(timeout=max(0.0, deadline.left() or 0.0)))
            except Empty:
                break
        return found


class LocalTimerServer(TimerServer):
    """Ends late workers by SIGKILL: a stuck worker does not react to weaker signals."""

    def __init__(self, mp_queue: Any, max_interval: float = 60, daemon: bool = True) -> None:
        super().__init__(MultiprocessingRequestQueue(mp_queue), max_interval, daemon)
        self._timers: dict[tuple[int, str], TimerRequest] = {}

    def register_timers(self, timer_requests: list[TimerRequest]) -> None:
        for request in timer_requests:
            key = request.worker_id, request.scope_id
            if request.expiration_time < 0:
                self._timers.pop(key, None)
            else:
                self._timers[key] = request

    def clear_timers(self, worker_ids: set[int]) -> None:
        self._timers = {key: one for key, one in self._timers.items() if key[0] not in worker_ids}

    def get_expired_timers(self, deadline: float) -> dict[Any, list[TimerRequest]]:
        late: dict[Any, list[TimerRequest]] = {}
        for request in self._timers.values():
            if request.expiration_time <= deadline:
                late.setdefault(request.worker_id, []).append(request)
        return late

    def _reap_worker(self, worker_id: int) -> bool:
        try:
            os.kill(worker_id, signal.SIGKILL)
        except ProcessLookupError:
            return True  # it is gone already
        except PermissionError:
            return False
        return True
