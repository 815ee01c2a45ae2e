"""How processes begin: deaf to Ctrl-C until they have a rule for it.

    we ── deaf_births() ──► start ──► the interpreter, imports …          Ctrl-C waits
                                      └► hear()                           and is heard here

A terminal sends Ctrl-C to everybody in its foreground. A process that is still importing would answer
with a traceback from the middle of numpy. So it is born with the signal blocked, which is a property
of the *thread* that starts it, and handed down through fork and exec; no other thread of ours notices.
"""

from __future__ import annotations

import signal
import threading  # noqa: TID251 - asks which thread this is
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import forkserver, resource_tracker
from types import FrameType
from typing import Any

Handler = Callable[[int, FrameType | None], Any]

_before: list[Handler] = []  # the handler that a forked child finds replaced


@contextmanager
def without_sigint(start_method: str = "") -> Iterator[None]:
    """Processes that this thread starts here hear no Ctrl-C before they call `restore_sigint`. This process
    hears it when all are started: half a process could not be ended.

    `start_method`: of multiprocessing, whose own processes are to be born as ever.
    """
    if start_method == "forkserver":
        forkserver.ensure_running()
    if start_method in ("spawn", "forkserver"):
        resource_tracker.ensure_running()  # it would unblock the signal as well
    noted: list[tuple[int, FrameType | None]] = []
    is_main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT) if is_main else None
    if callable(before):
        _before.append(before)
        signal.signal(signal.SIGINT, lambda number, frame: noted.append((number, frame)))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)  # what has come meanwhile is noted
        if callable(before):
            _before.pop()
            signal.signal(signal.SIGINT, before)
    if callable(before) and noted:
        before(*noted[0])


def restore_sigint() -> None:
    """In the process: from now on Ctrl-C is heard, and so is one that came since its birth."""
    if _before:  # forked
        signal.signal(signal.SIGINT, _before.pop())
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def ignore_sigint() -> None:
    """In the process: Ctrl-C is for the process that started us, for good. One that came before is forgotten."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
