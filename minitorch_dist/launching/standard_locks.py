"""Locks, conditions, events, semaphores, barriers and queues of the standard library, for simulated ranks.

    made during the run     threading.Lock, RLock and what the library makes of them are virtual ones (`transports.virtual.locks`)
    made before             those that the program's functions lead to are replaced while the run lasts (`given`)

`threading` and `queue` are written in Python upon locks. So it is enough to replace the locks, and the clock by which
they count a timeout. Threads that are no ranks go past all of this.
"""

from __future__ import annotations

import functools
import queue  # noqa: TID251 - to be replaced
import sys
import threading  # noqa: TID251 - to be replaced
import types
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from minitorch_dist.distributed import world
from minitorch_dist.launching import output, wall_clock
from transports.virtual.clock import VirtualClock
from transports.virtual.locks import VirtualLock, VirtualNotice, VirtualRLock

LOCK, RLOCK = type(threading.Lock()), type(threading.RLock())
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
        self._virtual: dict[int, Any] = {}  # by the identity of the real one
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
                self._entry(found, place)
        elif isinstance(found, dict) and len(found) <= MOST:
            for key in [*found]:
                self._entry(found, key)
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
        for cell in function.__closure__ or ():
            try:
                held = cell.cell_contents
            except ValueError:  # it is empty
                continue
            ours = self._virtual_of(held)
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
                self._entry(names, name)

    def _entry(self, container: Any, key: Any) -> None:
        held = container[key]
        ours = self._virtual_of(held)
        if ours is None:
            return self.visit(held)
        container[key] = ours

        def put_back() -> None:
            if (container.get(key) if isinstance(container, dict) else container[key]) is ours:
                container[key] = held

        self.undo.append(put_back)
        return None

    def _attribute(self, kind: type, name: str) -> None:
        held = vars(kind)[name]
        ours = self._virtual_of(held)
        if ours is None:
            return self.visit(held)
        setattr(kind, name, ours)
        self.undo.append(functools.partial(setattr, kind, name, held))
        return None

    def _condition(self, condition: threading.Condition) -> None:
        """It has taken methods out of its lock. One for which a thread waits stays as it is."""
        before = dict(vars(condition))
        ours = None if before["_waiters"] else self._virtual_of(before["_lock"])
        if ours is not None:
            condition.__init__(ours)  # type: ignore[misc]
            self.undo.append(lambda: vars(condition).update(before))

    def _virtual_of(self, held: Any) -> Any:
        """The stand-in of a lock; None where it is none, or is not free."""
        kind = type(held)
        if kind not in (LOCK, RLOCK) or (kind is RLOCK and not _is_free(held)):
            return None
        if id(held) not in self._virtual:
            self._virtual[id(held)] = (
                VirtualLock(find, held) if kind is LOCK else VirtualRLock(find)
            )
            self._seen[id(held)] = held  # so that nobody else gets its identity
        return self._virtual[id(held)]


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
