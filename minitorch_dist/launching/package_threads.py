"""Threads that an installed package starts on a simulated rank.

one that is no daemon                a thread of that rank, in virtual time: `datasets` reads files by such
one that shares a queue              the same: a loader that works ahead
other daemons                        threads of the system, which no rank shall wait for: progress bars draw by such
those of a pool of multiprocessing   are refused, since they wait for a pipe in real time
"""

from __future__ import annotations

import queue  # noqa: TID251 - its kinds are known by name
import threading  # noqa: TID251 - its threads are the subject
from types import FrameType
from typing import Any
from weakref import WeakKeyDictionary

from minitorch_dist.distributed import world
from transports.virtual import deadlock

_QUEUES = (queue.Queue, queue.SimpleQueue, queue._PySimpleQueue)  # type: ignore[attr-defined]
_OUTSIDE = "threads outside"  # what a rank keeps of those of the system
_threads: WeakKeyDictionary[Any, threading.Thread] = WeakKeyDictionary()  # by the simulated thread that it is
_current = threading.current_thread


def current() -> threading.Thread:
    """The caller's, as it was made. An arrival happens by itself, and is in no thread of a rank."""
    clock: Any = world.place().clock
    mine = clock.current()
    return (mine and _threads.get(mine)) or _current()


def is_of_pool(thread: threading.Thread) -> bool:
    module = getattr(getattr(thread, "_target", None), "__module__", "")
    return module in ("multiprocessing.pool", "multiprocess.pool")


def belongs_to_rank(thread: threading.Thread) -> bool:
    """Whether the rank may wait for what the thread does."""
    held = list(getattr(thread, "_args", ()))
    for owner in (thread, getattr(getattr(thread, "_target", None), "__self__", None)):
        held += getattr(owner, "__dict__", {}).values()
    return not thread.daemon or any(isinstance(each, _QUEUES) for each in held)


def start(thread: threading.Thread) -> None:
    """Let it run as a thread of the caller's rank."""
    here: Any = world.place()
    if here.world is not None:
        mine = here.world.start(thread.run, thread.name)
    else:
        mine = here.clock.start(world.inherited(thread.run), thread.name)
    _threads[mine] = thread
    thread.is_alive, thread.join = mine.is_alive, mine.join  # type: ignore[method-assign]
    thread._started.set()  # type: ignore[attr-defined]


def note(thread: threading.Thread, frame: FrameType) -> None:
    """It stays a thread of the system; `frame` starts it."""
    world.place().given.setdefault(_OUTSIDE, []).append((thread, deadlock.place(frame)))


def outside(given: dict[str, Any]) -> str:
    """The threads of the system that a rank has started, for the report of its deadlock."""
    return "; ".join(
        f"thread {thread.name!r}, started{where}, runs in real time and wakes no rank: run the program over tcp"
        for thread, where in given.get(_OUTSIDE, ())
        if thread.is_alive()
    )
