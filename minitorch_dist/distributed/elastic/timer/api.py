"""Timers that a worker acquires and releases, and the watchman who keeps an eye on them."""

from __future__ import annotations

import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from inspect import getframeinfo, stack
from typing import Any

from transports.clock import SystemClock, Thread

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class TimerRequest:
    """A worker's word that it will be through by a date; a date below 0: that it is."""

    worker_id: Any
    scope_id: str
    expiration_time: float


class TimerClient(ABC):
    """A worker's side."""

    @abstractmethod
    def acquire(self, scope_id: str, expiration_time: float) -> None: ...

    @abstractmethod
    def release(self, scope_id: str) -> None: ...


class RequestQueue(ABC):
    """How words come from workers to their watchman."""

    @abstractmethod
    def size(self) -> int:
        """The number of requests that are there."""

    @abstractmethod
    def get(self, size: int, timeout: float) -> list[TimerRequest]:
        """At most `size` of them; waits at most `timeout` seconds."""


class TimerServer(ABC):
    """The watchman: a thread beside the workers. It looks at least every `max_interval` seconds."""

    def __init__(
        self, request_queue: RequestQueue, max_interval: float, daemon: bool = True
    ) -> None:
        self._request_queue, self._max_interval = request_queue, max_interval
        self._thread: Thread | None = None
        self._is_stopping = False

    @abstractmethod
    def register_timers(self, timer_requests: list[TimerRequest]) -> None: ...

    @abstractmethod
    def clear_timers(self, worker_ids: set[Any]) -> None: ...

    @abstractmethod
    def get_expired_timers(self, deadline: float) -> dict[Any, list[TimerRequest]]:
        """By worker, those whose date is not after `deadline`."""

    @abstractmethod
    def _reap_worker(self, worker_id: Any) -> bool:
        """End it; whether that is done. If this raises, nobody tries again."""

    def start(self) -> None:
        self._is_stopping = False
        self._thread = SystemClock().start(self._watch, f"timers of {type(self).__name__}")

    def stop(self) -> None:
        """Returns when nobody looks any more."""
        self._is_stopping = True
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _watch(self) -> None:
        while not self._is_stopping:
            try:
                self._run_watchdog()
            except Exception:
                logger.exception("%r could not look after its workers", self)

    def _run_watchdog(self) -> None:
        """One look."""
        waiting = max(1, self._request_queue.size())
        self.register_timers(self._request_queue.get(waiting, self._max_interval))
        reaped = set()
        for worker, timers in self.get_expired_timers(_now()).items():
            scopes = [timer.scope_id for timer in timers]
            logger.info("worker %s is late in %s, and is ended", worker, scopes)
            try:
                is_over = self._reap_worker(worker)
            except Exception:
                logger.exception("worker %s could not be ended, and is forgotten", worker)
                is_over = True
            if is_over:
                reaped.add(worker)
        self.clear_timers(reaped)

    def __repr__(self) -> str:
        state = "watching" if self._thread is not None else "not started"
        return f"<{type(self).__name__}, {state}, a look each {self._max_interval} s>"


_client: TimerClient | None = None


def configure(timer_client: TimerClient) -> None:
    """The client that `expires` tells in this process."""
    global _client
    _client = timer_client


@contextmanager
def expires(
    after: float, scope: str | None = None, client: TimerClient | None = None
) -> Iterator[None]:
    """The block takes no longer than `after` seconds, or the worker ends. `scope`: its name in the log."""
    told = client or _client
    if told is None:
        raise RuntimeError("configure timer client before using countdown timers.")
    if scope is None:
        caller = getframeinfo(stack()[2][0])
        scope = f"{caller.filename}#{caller.lineno}"
    told.acquire(scope, _now() + after)
    try:
        yield
    finally:
        told.release(scope)


def _now() -> float:
    return time.time()  # noqa: TID251 - a date, which processes share
