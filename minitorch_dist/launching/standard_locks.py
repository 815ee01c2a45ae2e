"""Locks, conditions, events, semaphores, barriers and queues of the standard library, for simulated ranks.

    made during the run     threading.Lock, RLock and what the library makes of them are virtual ones (`transports.virtual.locks`)
    made before             those that stand in the user's modules (`found_in`), or that the program's functions lead to
                            (`given`), are replaced while the run lasts

`threading` and `queue` are written in Python upon locks. So it is enough to replace the locks, and the clock by which
they count a timeout. Threads that are no ranks go past all of this.
"""

from __future__ import annotations

import functools
import queue  # noqa: TID251 - to be replaced
import sys
import threading  # noqa: TID251 - to be replaced
import types
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from minitorch_dist.distributed import world
from minitorch_dist.launching import output, standard_locals, wall_clock
from transports.virtual.clock import VirtualClock
from transports.virtual.locks import VirtualLock, VirtualNotice, VirtualRLock

LOCK, RLOCK, LOCAL = type(threading.Lock()), type(threading.RLock()), threading.local
KINDS = frozenset({LOCK, RLOCK, LOCAL, threading.Condition})
_MAKERS = {id(getattr(threading, name)): name for name in ("Lock", "RLock", "local")}
_HERE = __file__.rpartition("standard_locks")[0]
MOST = 1000  # entries of a list or a dictionary that are looked through
_PLAIN = (
    str,
    bytes,
    int,
    float,
    complex,
    types.NoneType,
    types.ModuleType,
    types.BuiltinFunctionType,
)
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

_stand_ins: dict[
    int, tuple[Any, Any]
] = {}  # the real one and ours, by the identity of the real one


def forget() -> None:
    """No run is left, so nobody has one of the stand-ins."""
    _stand_ins.clear()


def found_in(names: dict[str, Any]) -> list[Callable[[], None]]:
    """Replace those that stand in a module, for all runs that last. The functions that undo it."""
    search = _LockSearch(lambda _: False)
    for name in [name for name, held in names.items() if type(held) in KINDS]:
        search.entry(names, name)
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


class _LockSearch:
    def __init__(self, is_users: Callable[[str], bool]) -> None:
        self._is_users = is_users
        self._seen: dict[int, Any] = {}
        self.undo: list[Callable[[], None]] = []

    def visit(self, found: Any) -> None:
        """Look through what this leads to."""
        if id(found) in self._seen or isinstance(found, _PLAIN):
            return
        self._seen[id(found)] = found
        if isinstance(found, types.FunctionType):
            self._function(found)
        elif isinstance(found, types.MethodType):
            self._all(found.__func__, found.__self__)
        elif isinstance(found, functools.partial):
            self._all(found.func, *found.args, *found.keywords.values())
        elif isinstance(found, staticmethod | classmethod):
            self.visit(found.__func__)
        elif isinstance(found, property):
            self._all(found.fget, found.fset)
        elif isinstance(found, list) and len(found) <= MOST:
            for place in range(len(found)):
                self.entry(found, place)
        elif isinstance(found, dict) and len(found) <= MOST:
            if isinstance(found, defaultdict):
                self._factory(found)
            for key in [*found]:
                self.entry(found, key)
        elif isinstance(found, tuple | set | frozenset) and len(found) <= MOST:
            self._all(*found)
        elif isinstance(found, threading.Condition):
            self._condition(found)
        elif isinstance(found, type):
            if self._is_of_user(found):
                self._all(*found.__bases__)
                for name in [*vars(found)]:
                    self._attribute(found, name)
        elif self._is_of_user(type(found)):
            self.visit(type(found))
            if isinstance(getattr(found, "__dict__", None), dict):
                self.visit(found.__dict__)

    def _all(self, *found: Any) -> None:
        for each in found:
            self.visit(each)

    def _is_of_user(self, kind: type) -> bool:
        module = sys.modules.get(kind.__module__)
        file = getattr(module, "__file__", None) or (
            "" if kind.__module__ == "__main__" else "<frozen"
        )
        return self._is_users(file)

    def _function(self, function: types.FunctionType) -> None:
        if function.__code__.co_filename.startswith(
            _HERE
        ):  # one of the stand-ins, which holds the original
            return
        for cell in function.__closure__ or ():
            try:
                held = cell.cell_contents
            except ValueError:  # it is empty
                continue
            ours = _virtual_of(held)
            if ours is None:
                self.visit(held)
            else:
                cell.cell_contents = ours
                self.undo.append(functools.partial(setattr, cell, "cell_contents", held))
        self._all(*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
        names = function.__globals__
        if self._is_users(function.__code__.co_filename) or names.get("PROGRAM", False):
            self._named(names, set(_names(function.__code__)))

    def _named(self, names: dict[str, Any], wanted: set[str]) -> None:
        """Look through the names that a function takes from its module, or from another one of the user's."""
        for name in sorted(wanted & names.keys()):
            held = names[name]
            if isinstance(held, types.ModuleType):
                if self._is_users(getattr(held, "__file__", None) or "<frozen"):
                    self._named(vars(held), wanted - {name})
            else:
                self.entry(names, name)

    def entry(self, container: Any, key: Any) -> None:
        held = container[key]
        ours = _virtual_of(held)
        if ours is None:
            return self.visit(held)
        container[key] = ours

        def put_back() -> None:
            if (container.get(key) if isinstance(container, dict) else container[key]) is ours:
                container[key] = held

        self.undo.append(put_back)
        return None

    def _factory(self, found: defaultdict[Any, Any]) -> None:
        held = found.default_factory
        ours = _virtual_of(held)
        if ours is None:
            return self.visit(held)
        found.default_factory = ours
        self.undo.append(functools.partial(setattr, found, "default_factory", held))
        return None

    def _attribute(self, kind: type, name: str) -> None:
        held = vars(kind)[name]
        ours = _virtual_of(held)
        if ours is None:
            return self.visit(held)
        setattr(kind, name, ours)
        self.undo.append(functools.partial(setattr, kind, name, held))
        return None

    def _condition(self, condition: threading.Condition) -> None:
        """It has taken methods out of its lock. One for which a thread waits stays as it is."""
        before = dict(vars(condition))
        ours = None if before["_waiters"] else _virtual_of(before["_lock"])
        if ours is not None:
            condition.__init__(ours)  # type: ignore[misc]
            self.undo.append(lambda: vars(condition).update(before))


def _virtual_of(held: Any) -> Any:
    """The stand-in of a lock, of a `threading.local`, or of what makes them; None where it is none, or is not free."""
    if id(held) in _MAKERS:  # as the factory of a field, say
        return getattr(threading, _MAKERS[id(held)])
    kind = type(held)
    if kind not in (LOCK, RLOCK, LOCAL) or (kind is RLOCK and not _is_free(held)):
        return None
    if id(held) not in _stand_ins:
        if kind is LOCAL:
            ours = standard_locals.stand_in(held)
        else:
            ours = VirtualLock(find, held) if kind is LOCK else VirtualRLock(find)
        _stand_ins[id(held)] = held, ours
    return _stand_ins[id(held)][1]


def _is_free(lock: Any) -> bool:
    if lock._is_owned() or not lock.acquire(False):
        return False
    lock.release()
    return True


def _names(code: types.CodeType) -> Iterator[str]:
    """The names of globals and attributes in a function, and in those within it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)
