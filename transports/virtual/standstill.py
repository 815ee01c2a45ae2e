"""A look from outside at a rank that stands still in a lock of the system, which no other rank can give back.

Such locks are those that nobody could replace by virtual ones (see `locks`). The thread that called `run` looks once a
second. A rank stands still if nothing has happened for `PATIENCE` looks, and its thread took no processor time. The
line on which it stands must wait for something by its words, too. So a long computation, a file or a child process are let be.
"""

from __future__ import annotations

import linecache
import re
import sys
import time
from types import FrameType
from typing import Any

from transports.virtual import deadlock
from transports.virtual.sim_thread import SimThread

PATIENCE = 20  # looks
_WAITS = re.compile(r"\bwith\b|\.(?:acquire|__enter__|get|put|join|wait|result)\s*\(")


class Watch:
    """`look` says in words who stands still; "" as long as that is nobody."""

    def __init__(self) -> None:
        self._seen: Any = None
        self._times = 0

    def look(self, running: SimThread | None, happened: int) -> str:
        ident = None if running is None else running.ident()
        if running is None or ident is None:
            self._seen = None
            return ""
        now = id(running), happened, _processor_time(ident)
        self._times = self._times + 1 if now == self._seen else 0
        self._seen = now
        if self._times < PATIENCE:
            return ""  # a frame that is looked at keeps all that is in it, so none is until now
        frame = running.frame(sys._current_frames())
        if frame is None or not _WAITS.search(_text(frame)):
            return ""
        return _words(running, frame)


def _processor_time(ident: int) -> float:
    """Of a thread; of all of them where the system does not tell."""
    if hasattr(time, "pthread_getcpuclockid"):
        return time.clock_gettime(time.pthread_getcpuclockid(ident))
    return time.process_time()


def _text(frame: FrameType) -> str:
    return linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()


def _words(running: SimThread, frame: FrameType) -> str:
    users = deadlock.of_user(frame) or frame
    who = f"rank {running.rank}" + ("" if running.main is running else f", thread {running.name!r},")
    return (
        f"{who} stands still{deadlock.place(users)} ({_text(users)}), in a lock of the system. Of all ranks one runs "
        "at a time, so no other one can give it back. Locks of threading wait in virtual time if they are made "
        "while the simulation runs. Those made before have to be found from its functions: by globals, closures, "
        "lists, dictionaries or attributes of your own classes. Make this one within the function that is "
        "simulated. The threads of this run stay behind until the lock is given back"
    )
