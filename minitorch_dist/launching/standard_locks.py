"""Locks, conditions, events, semaphores, barriers and queues of the standard library, for simulated ranks.

    made during the run     threading.Lock, RLock and what the library makes of them are virtual ones (`transports.virtual.locks`)
    made before             those that stand in the user's modules (`found_in`), or that the program's functions lead to
                            (`given`), are replaced while the run lasts

`threading` and `queue` are written in Python upon locks. So it is enough to replace the locks, and the clock by which
they count a timeout. Threads that are no ranks go past all of this.
"""

from __future__ import annotations

import functools
import gc
import operator
import queue  # noqa: TID251 - to be replaced
import sys
import threading  # noqa: TID251 - to be replaced
import types
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from minitorch_dist.distributed import world
from minitorch_dist.launching import output, standard_locals, wall_clock
from minitorch_dist.multiprocessing import sources
from transports.virtual.clock import VirtualClock
from transports.virtual.locks import VirtualLock, VirtualNotice, VirtualRLock

LOCK, RLOCK, LOCAL = type(threading.Lock()), type(threading.RLock()), threading.local
KINDS = frozenset({LOCK, RLOCK, LOCAL, threading.Condition})
_MAKERS = {id(getattr(threading, name)): name for name in ("Lock", "RLock", "local")}
_HERE = __file__.rpartition("standard_locks")[0]
MOST = 1000  # entries of a list or a dictionary that are looked through
_PLAIN = (str, bytes, int, float, complex, type(None), types.ModuleType, types.BuiltinFunctionType)
_LEADING = (types.MethodType, functools.partial, staticmethod, classmethod, property, tuple, set, frozenset)
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


def found_in(names: dict[str, Any]) -> list[Callable[[], None]]:
    """Replace those that stand in a module, for all runs that last. The functions that undo it."""
    search = _LockSearch(lambda _: False)
    for name in [name for name, held in names.items() if type(held) in KINDS]:
        search.look(_entry(names, name))
    return search.undo


@contextmanager
def given(roots: Iterable[Any], is_users: Callable[[str], bool]) -> Iterator[None]:
    """Within the block, locks that the program has already made are virtual ones. `roots` are its function and what it
    is called with. They are looked for where its functions, and those that these name, lead to."""
    search = _LockSearch(is_users)
    for root in roots:
        search.visit(root)
    try:
        yield
    finally:
        for put_back in reversed(search.undo):
            put_back()


class Place(NamedTuple):
    """Where something is held: an entry of a container, an attribute, a cell."""

    owner: Any
    key: Any
    read: Callable[[Any, Any], Any]
    write: Callable[[Any, Any, Any], None]

    def put_back(self, ours: Any, held: Any) -> None:
        """Put back the object of before, unless the program has put another thing there meanwhile."""
        with suppress(LookupError, AttributeError):
            if self.read(self.owner, self.key) is ours:
                self.write(self.owner, self.key, held)


def _entry(owner: Any, key: Any) -> Place:
    return Place(owner, key, operator.getitem, operator.setitem)


def _attribute(owner: Any, name: str) -> Place:
    return Place(owner, name, lambda one, key: vars(one)[key], setattr)


def _field(owner: Any, name: str) -> Place:
    return Place(owner, name, getattr, setattr)


class _LockSearch:
    def __init__(self, is_users: Callable[[str], bool]) -> None:
        self._is_users = is_users
        self._seen: dict[int, Any] = {}
        self.undo: list[Callable[[], None]] = []

    def look(self, place: Place) -> None:
        """Put a stand-in in place of a lock; look through anything else."""
        held = place.read(place.owner, place.key)
        ours = _virtual_of(held)
        if ours is None:
            self.visit(held)
        else:
            place.write(place.owner, place.key, ours)
            self.undo.append(functools.partial(place.put_back, ours, held))

    def visit(self, found: Any) -> None:
        """Look through what this leads to."""
        if id(found) in self._seen or isinstance(found, _PLAIN):
            return
        self._seen[id(found)] = found
        for place in self._places(found):
            self.look(place)
        for held in self._parts(found):
            self.visit(held)

    def _places(self, found: Any) -> list[Place]:
        """The places in it where a lock can be replaced."""
        match found:
            case types.FunctionType() if not found.__code__.co_filename.startswith(_HERE):
                cells = [cell for cell in found.__closure__ or () if not _is_empty(cell)]
                return [*(_field(cell, "cell_contents") for cell in cells), *self._named(found)]
            case list() if len(found) <= MOST:
                return [_entry(found, place) for place in range(len(found))]
            case dict() if len(found) <= MOST:
                made = [_field(found, "default_factory")] if isinstance(found, defaultdict) else []
                return made + [_entry(found, key) for key in found]
            case type() if self._is_of_user(found):
                return [_attribute(found, name) for name in vars(found)]
        return []

    def _parts(self, found: Any) -> Iterable[Any]:
        """The other objects that it leads to."""
        match found:
            case types.FunctionType():
                return (*(found.__defaults__ or ()), *(found.__kwdefaults__ or {}).values())
            case type():
                return found.__bases__ if self._is_of_user(found) else ()
            case tuple() | set() | frozenset() if len(found) > MOST:
                return ()
            case _ if isinstance(found, _LEADING):
                return gc.get_referents(found)
        own = getattr(found, "__dict__", None)
        return (type(found), own) if self._is_of_user(type(found)) and isinstance(own, dict) else ()

    def _is_of_user(self, kind: type) -> bool:
        file = getattr(sys.modules.get(kind.__module__), "__file__", None)
        return self._is_users(file or ("" if kind.__module__ == "__main__" else "<frozen"))

    def _named(self, function: types.FunctionType) -> Iterator[Place]:
        """The names that a user's function takes from its module, or from another one of the user's."""
        names = function.__globals__
        if not (self._is_users(function.__code__.co_filename) or names.get("PROGRAM", False)):
            return
        wanted, modules = set(sources.names_of(function.__code__)), [names]
        while modules:
            names = modules.pop()
            for name in sorted(wanted & names.keys()):
                if not isinstance(names[name], types.ModuleType):
                    yield _entry(names, name)
                elif self._is_users(getattr(names[name], "__file__", None) or "<frozen"):
                    wanted.discard(name)
                    modules.append(vars(names[name]))


def _is_empty(cell: types.CellType) -> bool:
    try:
        return cell.cell_contents is cell
    except ValueError:
        return True


def _virtual_of(held: Any) -> Any:
    """The stand-in of a lock, of a `threading.local`, or of what makes them; None where it is none, or is not free."""
    if id(held) in _MAKERS:  # as the factory of a field, say
        return getattr(threading, _MAKERS[id(held)])
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
