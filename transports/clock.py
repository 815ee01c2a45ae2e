"""The clock: the only part that waits, starts threads and reads the time.

A thread that has to wait, waits on a condition made here. With the `SystemClock` that is a
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
from collections.abc import Callable, Sequence
from math import inf
from typing import Any, ClassVar, Protocol

PICO = 10**12
ENDLESS = 1e9  # seconds: thirty years. The system's own waits do not take much more


def picoseconds(seconds: float) -> int:
    """A duration in whole picoseconds. One that is not 0 is at least 1."""
    return max(1, round(seconds * PICO)) if seconds > 0 else 0


class Condition(Protocol):
    """The methods of `threading.Condition` that are used."""

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
    """It decides what waiting means."""

    is_virtual: ClassVar[bool] = False
    """Whether its time is computed. Then the ranks share this clock, and equal runs are equal to the last
    message. Texts for a person or another machine have no meaning then: the wall's time, or a warning that
    it takes long.
    """
    of_time = ""  # behind a number of seconds, where they are not those of the wall's clock

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

    def asks_store(self) -> None:  # noqa: B027 - most clocks do nothing
        """A thread is about to ask a store. In a simulation this may take time."""

    def heard_store(self, operation: str, keys: Sequence[str], answer: Sequence[bytes]) -> None:  # noqa: B027
        """A store has answered a thread. A simulation may note it."""


class Deadline:
    """An instant after which waiting makes no sense; None never comes."""

    __slots__ = ("_clock", "_end", "_start", "seconds")

    def __init__(self, clock: Clock, seconds: float | None) -> None:
        self._clock, self.seconds = clock, seconds
        self._start = clock.now()
        is_endless = seconds is None or seconds >= ENDLESS
        self._end = inf if is_endless else self._start + picoseconds(seconds or 0)

    def elapsed(self) -> float:
        return (self._clock.now() - self._start) / PICO

    def left(self) -> float | None:
        """Seconds that remain, never negative; None where there is no end."""
        return None if self._end == inf else max(0.0, (self._end - self._clock.now()) / PICO)

    def is_over(self) -> bool:
        return self._clock.now() >= self._end


SHORTEST_NAP, LONGEST_NAP = 10e-6, 1e-3  # seconds
# One of so many waits sleeps at once. Two ranks may have been put on one core, and give it to each other by
# yielding. They stay there even if the next core is idle; a thread that is woken is put on a free core.
ASIDE = 32


def step_aside() -> None:
    """The shortest sleep there is."""
    time.sleep(SHORTEST_NAP)


LATE = 1_000_000  # nanoseconds; a peer that answers returns the core sooner
REST = 10  # times as long as a late yield took, no further one is tried


class Yielding:
    """Gives the core away between two polls, as long as it comes back soon.

    On a quiet machine a yield takes a microsecond, or as long as a peer needs to answer. Beside programs
    that compute, each of them first uses up its slice, which takes milliseconds. A process that
    sleeps for 10 µs gets a core back within 0.1 ms even there. So a late yield is followed by a rest, in which
    the caller sleeps at once; after the rest yields are tried anew. At most a tenth of the time goes into late yields.
    """

    __slots__ = ("_until",)

    def __init__(self) -> None:
        self._until = 0  # the end of the rest

    def give(self) -> bool:
        """Yield once, and say True; False, without a yield, during a rest."""
        before = time.monotonic_ns()
        if before < self._until:
            return False
        os.sched_yield()
        after = time.monotonic_ns()
        if after - before > LATE:
            self._until = after + REST * (after - before)
        return True


class Backoff:
    """How to wait for what another process writes to memory, where nobody can be told to wake us.

    First come some polls in a row, as an answer is often under way. Then the core is given to others
    between two polls. At last there are sleeps, each a little longer. `pause` is called after each poll
    that found nothing, `reset` after one that found something. `yielding` outlives this wait, and knows
    from earlier ones whether a yield pays at present.
    """

    __slots__ = ("_longest", "_naps", "_polls", "_turn", "_yielding", "_yields")

    def __init__(self, polls: int, yields: int, longest: float = LONGEST_NAP, yielding: Yielding | None = None) -> None:
        self._polls, self._yields, self._longest = polls, polls + yields, longest
        self._yielding = yielding or Yielding()
        self._turn = self._naps = 0

    def reset(self) -> None:
        self._turn = self._naps = 0

    def pause(self, most: float | None = None) -> None:
        """Wait a little, at most `most` seconds."""
        self._turn += 1
        if self._turn <= self._polls:
            return
        if self._turn <= self._yields and self._yielding.give():
            return
        self._naps += 1
        nap = min(self._longest, SHORTEST_NAP * 1.1 ** min(self._naps, 100))
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
        thread = SystemThread(function, name)
        thread.start()
        return thread


class SystemThread(threading.Thread):
    """A thread whose `join` may be interrupted.

    When Ctrl-C interrupts `threading.Thread.join` of CPython 3.11, a running thread counts as ended,
    and the next `join` returns at once.
    """

    def __init__(self, function: Callable[[], None], name: str) -> None:
        super().__init__(name=name, daemon=True)
        self._function, self._is_done = function, threading.Event()

    def run(self) -> None:
        try:
            self._function()
        finally:
            self._is_done.set()

    def join(self, timeout: float | None = None) -> None:
        if not self.is_alive() or self._is_done.wait(timeout):
            super().join()


SYSTEM = SystemClock()
