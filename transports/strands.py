"""One thread under virtual time. It runs only while it holds the baton, and there is one baton.

    strand A                       strand B
    runs …                         pause()           sleeps on its own lock
    B.resume(); A.pause() ───────► runs …
    sleeps on its own lock         A.resume(); B.pause()

A hand-over is one lock released and one acquired, whatever the number of strands. A rank is a
strand that was started from outside (its `head` is itself) together with those it started. What
only this file knows is that strands are threads.
"""

from __future__ import annotations

import ctypes
import threading
from _thread import allocate_lock, get_ident
from collections.abc import Callable

from transports.contract import Waiting

STACK = 1 << 20  # bytes of each thread's stack; memory is taken as it is used


def thread_name() -> str:
    return f"the thread {threading.current_thread().name!r}"


class Stopped(BaseException):
    """Unwinds a strand whose rank is over, or whose simulation was interrupted."""


class Strand:
    """A thread that belongs to a rank; what `clock.start` returns. The clock sets its state."""

    __slots__ = (
        "_baton", "_join", "_live", "deadline", "ended", "endings", "error", "function", "head",
        "ident", "is_endless", "is_over", "is_parked", "is_stopped", "joiners", "name", "rank", "slept",
        "spins", "spun_at", "thread", "timer", "waited", "was_woken", "why",
    )  # fmt: skip

    def __init__(
        self,
        function: Callable[[], None],
        name: str,
        rank: int,
        head: Strand | None,
        live: Callable[[Strand], None],
        join: Callable[[Strand, float | None], None],
    ) -> None:
        self.function, self.name, self.rank = function, name, rank
        self.head = self if head is None else head
        self._live, self._join = live, join
        self._baton = allocate_lock()
        self._baton.acquire()
        self.thread: threading.Thread | None = None  # made when it runs for the first time
        self.ident: int | None = None  # of its thread
        self.is_parked = self.is_over = self.is_stopped = False
        self.was_woken = self.is_endless = False
        self.error: BaseException | None = None  # to be raised where it waits
        self.deadline: int | None = None  # the instant at which it gives up waiting
        self.timer: int | None = None  # the instant for which it stands in the clock's timers
        self.why: Callable[[], Waiting] | None = None
        self.joiners: list[Strand] = []
        self.endings: list[Callable[[], None]] = []
        self.ended = self.waited = self.slept = 0  # picoseconds
        self.spun_at, self.spins = -1, 0

    # --------------------------------------------------------------------------- for its owner

    def join(self, timeout: float | None = None) -> None:
        """Wait for its end; from outside the simulation: let the whole simulation run."""
        self._join(self, timeout)

    def is_alive(self) -> bool:
        return not self.is_over

    # --------------------------------------------------------------------------- for the clock

    def act(self) -> None:
        """Do what it was started for; an error is reported as threads report it."""
        self.ident = get_ident()
        try:
            if not self.is_stopped:
                self.function()
        except (Stopped, SystemExit):
            pass
        except BaseException as error:
            threading.excepthook(
                threading.ExceptHookArgs((type(error), error, error.__traceback__, self.thread))
            )

    def interrupt(self) -> None:
        """Stop it wherever it is, even in a computation without end."""
        if self.ident is not None:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(self.ident), ctypes.py_object(Stopped)
            )

    def see_off(self) -> None:
        """Return when its thread has ended, too."""
        if self.thread is not None:
            self.thread.join()

    def prepare(self) -> bool:
        """See to it that there is a thread, which waits for the baton; False if none can be had."""
        if self.thread is None:
            thread = threading.Thread(target=self._begin, name=self.name, daemon=True)
            before = threading.stack_size(STACK)
            try:
                thread.start()
            except RuntimeError:
                return False
            finally:
                threading.stack_size(before)
            self.thread = thread
        return True

    def _begin(self) -> None:
        self._baton.acquire()
        self._live(self)

    def resume(self) -> None:
        """Give it the baton. The caller pauses, or ends, at once."""
        self._baton.release()

    def pause(self) -> None:
        """Sleep until the baton comes; called by the strand itself."""
        self._baton.acquire()

    def is_here(self) -> bool:
        """Whether the caller is this strand."""
        return get_ident() == self.ident

    def __repr__(self) -> str:
        state = (
            "over" if self.is_over else "waiting" if self.is_parked
            else "running" if self.thread is not None else "not begun"
        )  # fmt: skip
        return f"<Strand {self.name!r} of rank {self.rank}, {state}>"
