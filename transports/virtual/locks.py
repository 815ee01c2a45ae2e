"""Locks of the standard library under virtual time: a rank that waits for one parks, and lets others run.

    acquire    free? it is mine               held by a simulated thread? park until it is handed over
    release    nobody waits? it is free       else it is offered: the first of those who wait that runs takes it

Which of them runs first is the policy of the clock (`order`), so a seed may change it. Beneath each lock is one of the
system. Threads that belong to no simulation go past all of this and take that one, so both kinds exclude each other.

`threading` makes conditions, events, semaphores, barriers and queues out of locks alone, in Python. So they wait in
virtual time where they are made of these (see `minitorch_dist.launching.standard_locks`).
"""

from __future__ import annotations

import sys
from _thread import TIMEOUT_MAX, allocate_lock, get_ident
from collections import deque
from collections.abc import Callable
from typing import Any, TypeAlias

from transports.clock import picoseconds
from transports.virtual.clock import VirtualClock
from transports.virtual.deadlock import of_user, place
from transports.virtual.inboxes import Waiting
from transports.virtual.sim_thread import SimThread

Holder: TypeAlias = SimThread | int  # or a thread of the system, by its number


class VirtualLock:
    """A lock as `threading.Lock()` makes it. `find` says which clock the caller lives under; None: in real time."""

    __slots__ = ("__weakref__", "_find", "_holder", "_is_offered", "_queue", "_real", "_since")

    what = "a threading.Lock"

    def __init__(self, find: Callable[[], VirtualClock | None], real: Any = None) -> None:
        self._find = find
        self._real: Any = allocate_lock() if real is None else real
        self._holder: Holder | None = None
        self._is_offered = False  # it is taken from its holder, and belongs to the first that comes of the queue
        self._queue: deque[SimThread] = deque()
        self._since = ""  # at which line it was taken

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        clock = self._find()
        if clock is None:
            return self._taken_in_real_time(blocking, timeout)
        if timeout != -1 and not (blocking and 0 <= timeout <= TIMEOUT_MAX):
            self._real.acquire(blocking, timeout)  # which says what is wrong with that
        me = clock.current()
        if self._real.acquire(False):
            return self._taken_by(me)
        if not blocking:
            return False
        if not (isinstance(self._holder, SimThread) or self._is_offered):
            return self._taken_in_real_time(True, timeout)  # somebody outside has it, and gives it back
        if me is None:
            raise RuntimeError(
                f"an event of the simulation met {self}. A callback must not wait: take the lock where the "
                "program waits for the result"
            )
        return self._line_up(clock, me, None if timeout == -1 else picoseconds(timeout))

    def release(self) -> None:
        if self._is_offered or not self._real.locked():
            raise RuntimeError("release unlocked lock")
        self._holder = None
        if self._queue and (clock := self._find()) is not None:
            self._is_offered = True
            self._wake_all(clock)
        else:
            self._real.release()

    def locked(self) -> bool:
        return bool(self._real.locked())

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, kind: Any = None, error: Any = None, trace: Any = None, /) -> None:
        self.release()

    # ------------------------------------------------------------------------------------ waiting

    def _line_up(self, clock: VirtualClock, me: SimThread, timeout: int | None) -> bool:
        until = None if timeout is None else clock.now() + timeout
        self._queue.append(me)
        try:
            while until is None or clock.now() < until:
                clock.park(None if until is None else until - clock.now(), self._explain, me)
                if self._is_offered:
                    self._is_offered = False
                    return self._taken_by(me)
                if self._real.acquire(False):  # a thread outside gave it back
                    return self._taken_by(me)
            return False
        finally:
            self._queue.remove(me)
            if self._is_offered:  # we were to have it, and cannot take it
                self._wake_all(clock)
                if not self._queue:
                    self._is_offered = False
                    self._real.release()

    def _wake_all(self, clock: VirtualClock) -> None:
        for sim_thread in self._queue:
            clock.wake(sim_thread)

    def _taken_by(self, holder: Holder | None) -> bool:
        self._holder, self._since = holder, line()
        return True

    def _taken_in_real_time(self, blocking: bool, timeout: float) -> bool:
        return bool(self._real.acquire(blocking, timeout)) and self._taken_by(get_ident())

    def _explain(self) -> Waiting:
        """Says what those who queue wait for."""
        holder = self._holder
        if not isinstance(holder, SimThread):
            return Waiting((), self.what)
        whose = "it" if holder.main is holder else f"its thread {holder.name!r}"
        has = "held when it ended" if holder.is_over else "holds"
        since = f", taken at {self._since}" if self._since else ""
        return Waiting((holder.rank,), f"{self.what} that {whose} {has}{since}", held_by=holder)

    def _at_fork_reinit(self) -> None:
        """Asked for by `threading` in a process that was forked: its other threads are gone."""
        self._real._at_fork_reinit()
        self._holder, self._is_offered = None, False
        self._queue.clear()

    def __repr__(self) -> str:
        state = "locked" if self._real.locked() else "unlocked"
        return f"<{state} {type(self).__name__}, {len(self._queue)} wait>"


class VirtualNotice(VirtualLock):
    """The lock by which a `threading.Condition` wakes one of those who wait for it."""

    __slots__ = ()

    def _explain(self) -> Waiting:
        return Waiting((), "a notification (of a Condition, Event, Semaphore, Barrier or Queue)")


class VirtualRLock(VirtualLock):
    """A lock as `threading.RLock()` makes it: its holder may take it again."""

    __slots__ = ("_count",)

    what = "a threading.RLock"

    def __init__(self, find: Callable[[], VirtualClock | None]) -> None:
        super().__init__(find)
        self._count = 0

    def _me(self) -> Holder | None:
        clock = self._find()
        return get_ident() if clock is None else clock.current()

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        if self._count and self._holder == self._me():
            self._count += 1
            return True
        if not super().acquire(blocking, timeout):
            return False
        self._count = 1
        return True

    def release(self) -> None:
        if not self._is_owned():
            raise RuntimeError("cannot release un-acquired lock")
        self._count -= 1
        if not self._count:
            super().release()

    # what a Condition asks of it

    def _is_owned(self) -> bool:
        return self._count > 0 and self._holder == self._me()

    def _release_save(self) -> int:
        count, self._count = self._count, 0
        super().release()
        return count

    def _at_fork_reinit(self) -> None:
        super()._at_fork_reinit()
        self._count = 0

    def _acquire_restore(self, count: int) -> None:
        super().acquire()
        self._count = count


def line() -> str:
    """The innermost line of the user's own on the stack; "" if there is none."""
    return place(of_user(sys._getframe(1))).removeprefix(", at ")
