"""Simulated threads as greenlets: all ranks live in one thread, and a hand-over is one switch of stacks.

    simulated thread A ◄──► simulated thread B ◄──► …                  from simulated thread to simulated thread, without a hub
       │ ▲
       ▼ │
    the thread's loop                                where simulated threads begin, and where they end

They run in the same order as threads do, since the clock chooses and knows no difference. The host is
a thread of its own, so that the one that called `run` stays free to take Ctrl-C.

greenlet (the extra `fast`) is optional; https://greenlet.readthedocs.io.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from types import FrameType
from typing import Any

import greenlet

from transports.virtual.sim_thread import SimThread

STACK = 16 << 20  # bytes for the host's thread, in which all stacks take turns


class GreenletThread:
    """The thread in which the greenlets of one clock live, for as long as one of them does."""

    def __init__(self) -> None:
        self.thread: threading.Thread | None = None
        self.loop: greenlet.greenlet | None = None
        self.chosen: GreenletSimThread | None = None  # it goes on when the running one has ended

    def begin(self) -> None:
        thread = threading.Thread(target=self._run, name="ranks", daemon=True)
        before = threading.stack_size(STACK)
        try:
            thread.start()
        finally:
            threading.stack_size(before)

    def _run(self) -> None:
        self.thread, self.loop = threading.current_thread(), greenlet.getcurrent()
        while self.chosen is not None:
            chosen, self.chosen = self.chosen, None
            chosen.switch()
        self.loop = None

    def is_here(self) -> bool:
        return threading.current_thread() is self.thread


class GreenletSimThread(SimThread):
    """One greenlet of a host."""

    __slots__ = ("_greenlet", "_host")

    def __init__(self, host: GreenletThread, *given: Any) -> None:
        super().__init__(*given)
        self._host = host
        self._greenlet: greenlet.greenlet | None = None

    def prepare(self) -> bool:
        return True

    def resume(self) -> None:
        """From the end of another simulated thread, or from outside, to begin."""
        self._host.chosen = self
        if not self._host.is_here():
            self._host.begin()

    def hand_over(self, to: SimThread) -> None:
        assert isinstance(to, GreenletSimThread)
        if to._greenlet is not None:
            to._greenlet.switch()
        else:
            self._host.chosen = to
            assert self._host.loop is not None
            self._host.loop.switch()

    def switch(self) -> None:
        """Called by the loop: run it now. A greenlet begins only there, because it begins at the depth of stack
        and recursion of the thread that first switches to it."""
        if self._greenlet is None:
            self._greenlet = greenlet.greenlet(self._live, self._host.loop)
            self.is_begun = True
        self._greenlet.switch(self)  # which `_live` is called with, the first time

    def is_here(self) -> bool:
        return self._greenlet is not None and greenlet.getcurrent() is self._greenlet

    def see_off(self) -> None:
        """The host ends with the last of its simulated threads."""
        if self._host.thread is not None and not self._host.is_here():
            self._host.thread.join()
            self._host.thread = None

    def ident(self) -> int | None:
        thread = self._host.thread
        return None if thread is None else thread.ident

    def frame(self, of_threads: Mapping[int, FrameType]) -> FrameType | None:
        if self._greenlet is None:
            return None
        thread = self._host.thread
        frame: FrameType | None = self._greenlet.gr_frame
        if frame is None and thread is not None:  # the one that runs
            return of_threads.get(thread.ident or 0)
        return frame
