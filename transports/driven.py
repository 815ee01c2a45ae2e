"""One thread drives a transport, and the others wait beside it; in this they are all alike.

    the driver     has the turn: it reads from the medium and delivers, in its own call of `progress`
    the others     wait for their turn to drive, or for the driver to deliver something

`tcp` waits in the system meanwhile; media that can only be polled are built on `polled`.

The turn is a token in a list, and taking from a list is atomic. Only a thread that finds the list empty
goes the slow way, by a condition of the clock:

    waits:   count oneself in ─ look again ─ wait        a thread that gives the token back before the
    gives:   token back ─ is anybody counted? notify     first step is seen by the second, and one that
                                                         does so later sees the count
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from transports.clock import SYSTEM, Clock, Deadline
from transports.contract import WireTransport

SLICE = 1.0  # seconds between two looks of who waits


class Turn:
    """A lock whose waiters may also wait for something else.

    A signal handler that raises (Ctrl-C) does so between two calls. A token that was taken by then is put
    back; and a caller that must not be interrupted before it gives its turn back writes, instead of
    `give()`, `turn.token.append(True)`, which is one call, and then `turn.tell()`.
    """

    __slots__ = ("_changed", "_waiting", "token")

    def __init__(self, clock: Clock) -> None:
        self.token = [True]
        self._waiting = 0
        self._changed = clock.condition()

    def try_take(self) -> bool:
        try:
            return self.token.pop()
        except IndexError:
            return False
        except BaseException:  # interrupted, after the only call there is
            self.token.append(True)
            raise

    def give(self) -> None:
        """Give the turn back. Waiting threads look again, also at all else that they wait for."""
        self.token.append(True)
        self.tell()

    def tell(self) -> None:
        """Let those who wait look again."""
        if self._waiting:
            self.wake()

    def wake(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def take(self, deadline: Deadline, unless: Callable[[], bool] | None = None) -> bool:
        """Wait for the turn. False, without it, once `unless` says yes or the time is over."""
        is_ours = False
        try:
            with self._changed:
                self._waiting += 1
                try:
                    while not (unless is not None and unless()):
                        is_ours = self.try_take()
                        if is_ours or deadline.is_over():
                            break
                        # the thread that gave it may have been interrupted before it told us
                        left = deadline.left()
                        self._changed.wait(SLICE if left is None else min(left, SLICE))
                finally:
                    self._waiting -= 1
        except BaseException:
            if is_ours:
                self.token.append(True)
            raise
        return is_ours

    @contextmanager
    def held(self, clock: Clock) -> Iterator[None]:
        self.try_take() or self.take(clock.deadline(None))
        try:
            yield
        finally:
            self.give()


class DrivenTransport(WireTransport):
    """A transport whose threads take turns as its driver. Only the driver changes `_deliveries`."""

    def __init__(self, rank: int, world_size: int, address: str = "", clock: Clock = SYSTEM) -> None:
        super().__init__(rank, world_size, address, clock)
        self._turn = Turn(clock)  # to drive

    def _wait_beside(self, timeout: float | None, seen: int, done: Callable[[], bool] | None) -> bool:
        """Another thread drives: wait for our turn (True), or for something to be delivered."""

        def unless() -> bool:
            return self._state != "open" or self._deliveries != seen or (done is not None and done())

        is_ours = self._turn.take(self.clock.deadline(timeout), unless)
        if not is_ours:
            self._demand_open()
        return is_ours
