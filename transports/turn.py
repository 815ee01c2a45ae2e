"""Whose turn it is: at most one thread at a time, and taking it costs next to nothing when it is free.

The turn is a token in a list, and taking from a list is atomic. Only who finds the list empty goes
the slow way, by a condition of the clock:

    waits:   count oneself in ─ look again ─ wait        whoever gives the token back before the
    gives:   token back ─ is anybody counted? notify     first step is seen by the second, and
                                                         whoever does so later sees the count
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from transports.clock import Clock, Deadline


class Turn:
    """A lock whose waiters may also wait for something else."""

    __slots__ = ("_changed", "_token", "_waiting")

    def __init__(self, clock: Clock) -> None:
        self._token = [True]
        self._waiting = 0
        self._changed = clock.condition()

    def try_take(self) -> bool:
        try:
            return self._token.pop()
        except IndexError:
            return False

    def give(self) -> None:
        """Give the turn back; who waits looks again, also at whatever else it waits for."""
        self._token.append(True)
        if self._waiting:
            self.wake()

    def wake(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def take(self, deadline: Deadline, unless: Callable[[], bool] | None = None) -> bool:
        """Wait for the turn. False, without it, once `unless` says yes or the time is over."""
        with self._changed:
            self._waiting += 1
            try:
                while True:
                    if unless is not None and unless():
                        return False
                    if self.try_take():
                        return True
                    if deadline.is_over():
                        return False
                    self._changed.wait(deadline.left())
            finally:
                self._waiting -= 1

    @contextmanager
    def held(self, clock: Clock) -> Iterator[None]:
        self.try_take() or self.take(clock.deadline(None))
        try:
            yield
        finally:
            self.give()

    def __repr__(self) -> str:
        return f"<Turn, {'free' if self._token else 'taken'}, {self._waiting} waiting>"
