"""A condition under virtual time: what `threading.Condition` does, without a lock of the system.

Only one simulated thread runs at a time and it is never interrupted, so entering is a matter of two fields;
only who meets a simulated thread that parked while holding the condition has to queue.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from transports.clock import picoseconds
from transports.virtual.inboxes import Waiting
from transports.virtual.scheduler import Scheduler
from transports.virtual.sim_thread import SimThread


class VirtualCondition:
    __slots__ = ("_clock", "_depth", "_holder", "_ousted", "_queue", "_waiters", "_waits_for")

    def __init__(self, clock: Scheduler, waits_for: Callable[[], str] | str = "") -> None:
        self._clock, self._waits_for = clock, waits_for
        self._holder: SimThread | None = None  # None while `_depth` > 0: somebody outside
        self._depth = 0
        self._queue: deque[SimThread] = deque()  # threads that want to enter
        self._waiters: deque[SimThread] = deque()
        # their wait ended with an error, others are inside; and how often they have still to leave
        self._ousted: dict[SimThread | None, int] = {}

    def __enter__(self) -> bool:
        me = self._clock.current()
        if self._depth == 0:
            self._holder = me
        elif self._holder is not me:
            self._line_up(me)
        self._depth += 1
        return True

    def __exit__(self, kind: Any = None, error: Any = None, trace: Any = None, /) -> None:
        me = self._clock.current()
        if self._holder is not me:
            if left := self._ousted.pop(me) - 1:
                self._ousted[me] = left
            return
        self._depth -= 1
        if self._depth == 0:
            self._let_in()

    def wait(self, timeout: float | None = None) -> bool:
        """Leave, wait to be notified, enter again; False if the timeout came first."""
        me = self._held()
        depth, self._depth = self._depth, 0
        self._let_in()
        self._waiters.append(me)
        try:
            notified = self._clock.park(None if timeout is None else picoseconds(timeout), self.explain)
            if not notified:
                self._forget(me)
            self._line_up(me)
        except BaseException:
            self._forget(me)
            if self._depth:
                self._ousted[me] = depth
            else:
                self._holder, self._depth = me, depth
            raise
        self._depth = depth
        return notified

    def notify(self, n: int = 1) -> None:
        if not self._depth or self._holder is not self._clock.current():
            raise RuntimeError("only who holds a condition can notify those who wait for it")
        while n > 0 and self._waiters:
            self._clock.wake(self._waiters.popleft())
            n -= 1

    def notify_all(self) -> None:
        self.notify(len(self._waiters))

    def explain(self) -> Waiting:
        """Says what its waiters wait for."""
        words = self._waits_for() if callable(self._waits_for) else self._waits_for
        return Waiting((), words or "a notification of another thread")

    def _line_up(self, me: SimThread | None) -> None:
        """Return when it is free for us."""
        if me is None:
            raise AssertionError("what happens by itself met a condition that a parked simulated thread holds")
        while self._depth:
            self._queue.append(me)
            try:
                self._clock.park(None, self._occupied)
            except BaseException:
                if me in self._queue:
                    self._queue.remove(me)
                elif not self._depth:  # it was to enter, and cannot: the next one may
                    self._let_in()
                raise
        self._holder = me

    def _occupied(self) -> Waiting:
        holder = f"{self._holder.name!r}" if self._holder is not None else "somebody"
        return Waiting((), f"a condition that {holder} holds while it waits for something else")

    def _let_in(self) -> None:
        self._holder = None
        if self._queue:
            self._clock.wake(self._queue.popleft())

    def _forget(self, me: SimThread) -> None:
        if me in self._waiters:
            self._waiters.remove(me)

    def _held(self) -> SimThread:
        me = self._clock.current()
        if me is None or self._holder is not me or not self._depth:
            raise RuntimeError("only who holds a condition, in a simulated thread, can wait for it")
        return me
