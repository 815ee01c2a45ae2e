"""Only the clock waits.

Whoever has to wait, waits on a condition made here. With the `SystemClock` that is a
`threading.Condition`; under virtual time the same call parks the rank and lets another run. This
module is the only place where threads are started and where time is read, so everything above runs
in a simulation unchanged.

Instants are integers in picoseconds, so that virtual time is compared with theory by `==`;
durations that people write (timeouts, sleeps) are seconds.
"""

from __future__ import annotations

import os
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from math import inf
from typing import Any, Protocol

PICO = 10**12


def picoseconds(seconds: float) -> int:
    """A duration in whole picoseconds; what is not nothing is at least one."""
    return max(1, round(seconds * PICO)) if seconds > 0 else 0


class Condition(Protocol):
    """What `threading.Condition` offers, as far as it is used."""

    def __enter__(self) -> bool: ...
    def __exit__(self, kind: Any, error: Any, trace: Any, /) -> None: ...
    def wait(self, timeout: float | None = None) -> bool: ...
    def notify(self, n: int = 1) -> None: ...
    def notify_all(self) -> None: ...


class Thread(Protocol):
    """Something that was started and can be waited for."""

    @property
    def name(self) -> str: ...
    def join(self, timeout: float | None = None) -> None: ...
    def is_alive(self) -> bool: ...


class Clock(ABC):
    """Who decides what waiting means."""

    @abstractmethod
    def now(self) -> int:
        """The present instant in picoseconds; only differences mean something."""

    @abstractmethod
    def sleep(self, seconds: float) -> None: ...

    @abstractmethod
    def condition(self, waits_for: Callable[[], str] | str = "") -> Condition:
        """`waits_for` says in words what its waiters wait for, should nobody ever notify them."""

    @abstractmethod
    def start(self, function: Callable[[], None], name: str) -> Thread:
        """Run `function` beside the caller; it belongs to the caller's rank."""

    def deadline(self, seconds: float | None) -> Deadline:
        return Deadline(self, seconds)


class Deadline:
    """An instant after which waiting makes no sense; None never comes."""

    __slots__ = ("_clock", "_end", "_start", "seconds")

    def __init__(self, clock: Clock, seconds: float | None) -> None:
        self._clock, self.seconds = clock, seconds
        self._start = clock.now()
        self._end = inf if seconds is None or seconds == inf else self._start + picoseconds(seconds)

    def elapsed(self) -> float:
        return (self._clock.now() - self._start) / PICO

    def left(self) -> float | None:
        """Seconds that remain, never negative; None where there is no end."""
        return None if self._end == inf else max(0.0, (self._end - self._clock.now()) / PICO)

    def is_over(self) -> bool:
        return self._clock.now() >= self._end

    def __repr__(self) -> str:
        return f"<Deadline {self.left()} of {self.seconds} s left>"


SHORTEST_NAP, LONGEST_NAP = 10e-6, 1e-3  # seconds
# Every so many waits one sleeps at once. Two ranks that were put on one core and give it to each other
# by yielding stay there, though the next core be idle; whoever is woken is put on a free one.
ASIDE = 32


def step_aside() -> None:
    """The shortest sleep there is."""
    time.sleep(SHORTEST_NAP)


class Backoff:
    """How to wait for what another process writes to memory, where nobody can be told to wake us.

    Some looks in a row, as an answer is often under way; then the core is given to whoever wants
    it, between two looks; then sleeps, each a little longer. `pause` is called after each look that
    found nothing, `reset` after one that found something.
    """

    __slots__ = ("_longest", "_looks", "_turn", "_yields")

    def __init__(self, looks: int, yields: int, longest: float = LONGEST_NAP) -> None:
        self._looks, self._yields, self._longest = looks, looks + yields, longest
        self._turn = 0

    def reset(self) -> None:
        self._turn = 0

    def pause(self, most: float | None = None) -> None:
        """Wait a little, at most `most` seconds."""
        self._turn += 1
        if self._turn <= self._looks:
            return
        if self._turn <= self._yields:
            os.sched_yield()
            return
        nap = min(self._longest, SHORTEST_NAP * 1.1 ** min(self._turn - self._yields, 100))
        time.sleep(nap if most is None else min(nap, most))


class SystemClock(Clock):
    """Real time and real threads."""

    def now(self) -> int:
        return time.monotonic_ns() * 1000

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def condition(self, waits_for: Callable[[], str] | str = "") -> Condition:
        return threading.Condition()

    def start(self, function: Callable[[], None], name: str) -> Thread:
        thread = threading.Thread(target=function, name=name, daemon=True)
        thread.start()
        return thread


SYSTEM = SystemClock()
