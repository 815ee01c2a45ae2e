"""The watchman: ends calls whose time is over, and sees to it that somebody drives.

He sleeps until the earliest deadline. While functions run in the driver's thread he also looks every
millisecond whether one of them takes long; after some quiet looks he sleeps again until he is called.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from minitorch_dist.distributed.rpc.crew import NAP
from transports.clock import PICO, Clock, Thread

QUIET: Final = 40  # looks in vain before he sleeps


class Watched(Protocol):
    clock: Clock

    def next_instant(self) -> int | None:
        """When something is due, in the clock's picoseconds; None if nothing is."""

    def do_what_is_due(self) -> None: ...
    def start(self, function: Callable[[], None], name: str) -> Thread: ...


class Watchman:
    def __init__(
        self, watched: Watched, inline: Callable[[], int], relieve: Callable[[int], bool]
    ) -> None:
        self._watched, self._inline, self._relieve = watched, inline, relieve
        self._changed = watched.clock.condition("the next deadline")
        self._is_closed = self._is_attentive = False
        self._next: int | None = None  # when he will wake by himself
        self._thread: Thread | None = None

    def begin(self) -> None:
        self._thread = self._watched.start(self._live, "rpc watchman")

    def alert(self) -> None:
        """A function begins in the driver's thread."""
        if not self._is_attentive:
            with self._changed:
                self._is_attentive = True
                self._changed.notify_all()

    def expect(self, instant: int) -> None:
        """Something will be due then."""
        upcoming = self._next
        if upcoming is None or instant < upcoming:
            with self._changed:
                if self._next is None or instant < self._next:
                    self._next = instant
                    self._changed.notify_all()

    def _live(self) -> None:
        seen, quiet = 0, 0
        while True:
            self._watched.do_what_is_due()
            with self._changed:
                if self._is_closed:
                    return
                self._next = None  # who makes a call now comes to the lock, and we hear of it
                self._next = self._watched.next_instant()
                left = None
                if self._next is not None:
                    left = max(0.0, (self._next - self._watched.clock.now()) / PICO)
                if self._is_attentive:
                    left = NAP if left is None else min(left, NAP)
                if left is None or left > 0:
                    self._changed.wait(left)
            if self._is_attentive:
                number = self._inline()
                if number and number == seen:
                    self._relieve(number)
                quiet = 0 if number != seen else quiet + 1
                seen = number
                if quiet > QUIET:
                    self._is_attentive, quiet = False, 0
                    self._is_attentive = bool(self._inline())  # one that began just now

    def close(self) -> None:
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def join(self) -> None:
        if self._thread is not None:
            self._thread.join()

    def __repr__(self) -> str:
        return f"<Watchman, {'attentive' if self._is_attentive else 'asleep'}>"
