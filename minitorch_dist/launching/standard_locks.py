"""Locks, conditions, events, semaphores, barriers and queues of the standard library, for simulated ranks.

    made during the run     threading.Lock, RLock and what the library makes of them are virtual ones (`transports.virtual.locks`)
    made before             those that stand in the user's modules (`found_in`), or in the closure of the program's function
                            (`given`), are replaced while the run lasts

`threading` and `queue` are written in Python upon locks. So it is enough to replace the locks, and the clock by which
they count a timeout. Threads that are no ranks go past all of this.
"""

from __future__ import annotations

import functools
import operator
import queue  # noqa: TID251 - to be replaced
import threading  # noqa: TID251 - to be replaced
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from minitorch_dist.distributed import world
from minitorch_dist.launching import output, standard_locals, wall_clock
from transports.virtual.clock import VirtualClock
from transports.virtual.locks import VirtualLock, VirtualNotice, VirtualRLock

LOCK, RLOCK, LOCAL = type(threading.Lock()), type(threading.RLock()), threading.local
KINDS = frozenset({LOCK, RLOCK, LOCAL, threading.Condition})
starting: set[int] = set()  # threads that start a real one, and wait until it has begun


def find() -> VirtualClock | None:
    """The clock of the caller, if it is a simulated rank and waits for no thread of the system."""
    clock = world.place().clock
    if not isinstance(clock, VirtualClock) or threading.get_ident() in starting:
        return None
    return clock


def instead() -> list[tuple[Any, str, Callable[..., Any]]]:
    """The names that are replaced for simulated ranks: their owner, the name, and its stand-in."""
    return [
        # the same function by another name: by that, conditions make what wakes those who wait for them
        (threading, "_allocate_lock", _made(VirtualNotice, threading._allocate_lock)),  # type: ignore[attr-defined]
        (threading, "Lock", _made(VirtualLock, threading.Lock)),
        (threading, "RLock", _made(VirtualRLock, threading.RLock)),
        (threading, "_time", wall_clock.instead()["monotonic"]),
        (queue, "time", wall_clock.instead()["monotonic"]),
        (queue, "SimpleQueue", queue._PySimpleQueue),  # type: ignore[attr-defined]  # of a semaphore
    ]


@functools.cache
def _made(kind: Callable[..., Any], original: Callable[..., Any]) -> Callable[..., Any]:
    def made() -> Any:
        """A real one where a stream, or a handler of the log, waits for a thread of its own."""
        return original() if find() is None or output.is_calling() else kind(find)

    return made


# ------------------------------------------------------------------------------ made before the run

_stand_ins: dict[int, tuple[Any, Any]] = {}  # the real one and ours, by the identity of that


def forget() -> None:
    """No run is left, so nobody has one of the stand-ins."""
    _stand_ins.clear()


class Place(NamedTuple):
    """Where a lock may stand: a name of a module, an entry of a list, a cell of a closure."""

    owner: Any
    key: Any
    read: Callable[[Any, Any], Any]
    write: Callable[[Any, Any, Any], None]

    def replace(self) -> Callable[[], None]:
        """Put a stand-in in place of a lock. The function that undoes it, unless the program has put another thing there."""
        held = self.read(self.owner, self.key)
        ours = _virtual_of(held)
        if ours is not None:
            self.write(self.owner, self.key, ours)

        def put_back() -> None:
            with suppress(LookupError, ValueError):
                if ours is not None and self.read(self.owner, self.key) is ours:
                    self.write(self.owner, self.key, held)

        return put_back


def found_in(names: dict[str, Any]) -> list[Callable[[], None]]:
    """Replace those that stand in a module, for all runs that last. The functions that undo it."""
    return [_entry(names, name).replace() for name in names if type(names[name]) in KINDS]


@contextmanager
def given(function: Callable[..., Any]) -> Iterator[None]:
    """Within the block, locks in the closure of the program's function are virtual ones, also in those of functions there."""
    undo = [place.replace() for place in list(_closed_over(function, set()))]
    try:
        yield
    finally:
        for put_back in undo:
            put_back()


def _closed_over(function: Any, seen: set[int]) -> Iterator[Place]:
    seen.add(id(function))
    for cell in getattr(function, "__closure__", None) or ():
        if _is_empty(cell) or id(cell.cell_contents) in seen:
            continue
        yield Place(cell, "cell_contents", getattr, setattr)
        if isinstance(cell.cell_contents, list):
            yield from (_entry(cell.cell_contents, at) for at in range(len(cell.cell_contents)))
        yield from _closed_over(cell.cell_contents, seen)


def _entry(owner: Any, key: Any) -> Place:
    return Place(owner, key, operator.getitem, operator.setitem)


def _is_empty(cell: types.CellType) -> bool:
    try:
        return cell.cell_contents is cell
    except ValueError:
        return True


def _virtual_of(held: Any) -> Any:
    """The stand-in of a lock or of a `threading.local`; None where it is none, or is not free."""
    kind = type(held)
    if kind not in KINDS or not _is_free(held):
        return None
    if id(held) not in _stand_ins:
        if kind is threading.Condition:
            ours: Any = threading.Condition(_virtual_of(held._lock))
        elif kind is LOCAL:
            ours = standard_locals.stand_in(held)
        else:
            ours = VirtualLock(find, held) if kind is LOCK else VirtualRLock(find)
        _stand_ins[id(held)] = held, ours
    return _stand_ins[id(held)][1]


def _is_free(held: Any) -> bool:
    """Whether nobody has it, so that it may be another one for a while. A held Lock stays held in its stand-in."""
    if type(held) is threading.Condition:
        return not held._waiters and _is_free(held._lock)  # type: ignore[attr-defined]
    if type(held) is not RLOCK:
        return type(held) in (LOCK, LOCAL)
    if held._is_owned() or not held.acquire(False):  # type: ignore[attr-defined]
        return False
    held.release()
    return True
