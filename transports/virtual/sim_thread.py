"""One simulated thread of a program under virtual time: it runs only while it holds the baton, and there is one.

    simulated thread A                       simulated thread B
    runs …                         pause()           sleeps on its own lock
    B.resume(); A.pause() ───────► runs …
    sleeps on its own lock         A.resume(); B.pause()

A hand-over is one lock released and one acquired, for any number of simulated threads. A rank is a
simulated thread that was started from outside (its `main` is itself) together with those it started.

Here simulated threads are threads. `greenlets` makes them of greenlets, which all live in one thread. They
are the same simulated threads in the same order, and a hand-over takes half a microsecond instead of five.
Nobody else knows which they are.
"""

from __future__ import annotations

import ctypes
import threading
from _thread import allocate_lock, get_ident
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any, TypeAlias

from transports.virtual.inboxes import Waiting

Live: TypeAlias = "Callable[[SimThread], None]"  # the whole life of one, and waiting for its end
Join: TypeAlias = "Callable[[SimThread, float | None], None]"
STACK = 1 << 20  # bytes of each thread's stack; memory is taken as it is used


def thread_name() -> str:
    return f"the thread {threading.current_thread().name!r}"


class Stopped(BaseException):
    """Unwinds a simulated thread whose rank is over, or whose simulation was interrupted."""


class SimThread:
    """Belongs to a rank; the result of `clock.start`. The clock sets its state."""

    __slots__ = (
        "__weakref__", "_baton", "_ident", "_join", "_live", "_thread", "about", "deadline", "ended", "endings", "error",
        "function", "helpers", "is_begun", "is_endless", "is_over", "is_parked", "is_stopped",
        "joiners", "main", "name", "rank", "slept", "spins", "spun_at", "timer", "waited",
        "was_woken", "why",
    )  # fmt: skip

    def __init__(
        self, live: Live, join: Join, function: Callable[[], None], name: str, rank: int, main: SimThread | None
    ) -> None:
        self.function, self.name, self.rank = function, name, rank
        self.main = self if main is None else main
        self.helpers: tuple[SimThread, ...] = ()  # of a head: what belongs to it, and is not over
        self._live, self._join = live, join
        self.is_begun = False
        self.is_parked = self.is_over = self.is_stopped = False
        self.was_woken = self.is_endless = False
        self.error: BaseException | None = None  # to be raised where it waits
        self.deadline: int | None = None  # the instant at which it gives up waiting
        self.timer: int | None = None  # the instant for which it stands in the clock's timers
        self.why: Callable[..., Waiting] | None = None  # says for what it waits: why(*about)
        self.about: tuple[Any, ...] | None = None
        self.joiners: tuple[SimThread, ...] = ()
        self.endings: list[Callable[[], None]] = []
        self.ended = self.waited = self.slept = 0  # picoseconds
        self.spun_at, self.spins = -1, 0
        self._baton = allocate_lock()  # on which it sleeps while others run
        self._thread: threading.Thread | None = None  # made when it runs for the first time
        self._ident: int | None = None

    # --------------------------------------------------------------------------- for its owner

    def join(self, timeout: float | None = None) -> None:
        """Wait for its end; from outside the simulation: let the whole simulation run."""
        self._join(self, timeout)

    def is_alive(self) -> bool:
        return not self.is_over

    # --------------------------------------------------------------------------- for the clock

    def act(self) -> None:
        """Do what it was started for; an error is reported as threads report it."""
        try:
            if not self.is_stopped:
                self.function()
        except (Stopped, SystemExit):
            pass
        except BaseException as error:
            what = type(error), error, error.__traceback__, threading.current_thread()
            threading.excepthook(threading.ExceptHookArgs(what))

    def prepare(self) -> bool:
        """See to it that it can be given the baton; False if the system has no room for it."""
        if self._thread is None:
            self._baton.acquire()
            thread = threading.Thread(target=self._begin, name=self.name, daemon=True)
            before = threading.stack_size(STACK)
            try:
                thread.start()
            except RuntimeError:
                self._baton.release()
                return False
            finally:
                threading.stack_size(before)
            self._thread, self.is_begun = thread, True
        return True

    def _begin(self) -> None:
        self._baton.acquire()
        self._ident = get_ident()
        self._live(self)

    def resume(self) -> None:
        """Give it the baton. The caller pauses, or ends, at once."""
        self._baton.release()

    def hand_over(self, to: SimThread) -> None:
        """Called by this simulated thread: give `to` the baton, and return when it comes back."""
        to.resume()
        self._baton.acquire()

    def is_here(self) -> bool:
        """Whether the caller is this simulated thread."""
        return get_ident() == self._ident

    def interrupt(self) -> None:
        """Stop it wherever it is, even in a computation without end: as soon as it runs Python."""
        if (ident := self.ident()) is not None:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), ctypes.py_object(Stopped))

    def see_off(self) -> None:
        """Return when nothing of it is left."""
        if self._thread is not None:
            self._thread.join()

    def ident(self) -> int | None:
        """The system's thread in which it runs, once it does."""
        return self._ident

    def frame(self, of_threads: Mapping[int, FrameType]) -> FrameType | None:
        """Where it stands; `of_threads` is `sys._current_frames()`."""
        return None if self._ident is None else of_threads.get(self._ident)
