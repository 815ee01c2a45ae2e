"""Those who wait for keys of a key-value table, found by their keys.

    absent    key ──► its waiters, of whom each counts the keys that it misses
    present   key ──► waiters for other keys, which have this one

A change of a key touches the waiters for this key and nobody else. If the key comes, its waiters move from the one
table to the other, and each counts one less; if it goes, they move back. A waiter that misses nothing is ready. So
a wait for many keys costs each of its keys once, however many other keys change meanwhile.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Generic, TypeVar

from transports.stores.key_values import NEEDS, KeyValues

Waiter = TypeVar("Waiter", bound=Hashable)
_Table = dict[str, dict[Waiter, None]]  # in the order in which they came


class KeyWaiters(Generic[Waiter]):
    """Waiters for keys of this table, each with one operation of `NEEDS`."""

    def __init__(self, key_values: KeyValues) -> None:
        self._key_values = key_values
        self._tables: dict[str, tuple[_Table[Waiter], _Table[Waiter]]] = {operation: ({}, {}) for operation in NEEDS}
        self._asked: dict[Waiter, tuple[str, list[str]]] = {}  # the operation, and each key once
        self._missing: dict[Waiter, int] = {}  # how many keys

    def add(self, waiter: Waiter, operation: str, keys: Sequence[str]) -> None:
        """It begins to wait; some of its keys are missing. A pop needs its first one only."""
        distinct = list(dict.fromkeys(keys[:1] if operation == "queue_pop" else keys))
        absent, present = self._tables[operation]
        missing = 0
        for key in distinct:
            is_there = self._key_values.is_there(operation, key)
            (present if is_there else absent).setdefault(key, {})[waiter] = None
            missing += not is_there
        assert missing, "a waiter misses something"
        self._asked[waiter], self._missing[waiter] = (operation, distinct), missing

    def remove(self, waiter: Waiter) -> None:
        """It waits no longer, if it did."""
        operation, keys = self._asked.pop(waiter, ("get", []))
        self._missing.pop(waiter, None)
        for key in keys:
            for table in self._tables[operation]:
                waiters = table.get(key)
                if waiters is not None and waiter in waiters:
                    del waiters[waiter]
                    if not waiters:
                        del table[key]

    def ready(self, changed: Iterable[str]) -> Iterator[Waiter]:
        """Those who miss nothing any more, now that these keys have changed. The caller answers and removes each
        before it takes the next one, who then misses its key again if that answer has emptied a queue."""
        for key in changed if self._asked else ():
            for operation in NEEDS:
                for waiter in self._move(operation, key):
                    if self._missing.get(waiter) == 0:
                        yield waiter
                        self._see_whether_it_went(key)

    def _see_whether_it_went(self, key: str) -> None:
        for operation in NEEDS:
            if not self._key_values.is_there(operation, key):
                self._move(operation, key)

    def _move(self, operation: str, key: str) -> list[Waiter]:
        """See whether the key has come or gone. The waiters for it, if it came."""
        absent, present = self._tables[operation]
        is_there = self._key_values.is_there(operation, key)
        source, target = (absent, present) if is_there else (present, absent)
        moved = source.pop(key, None)
        if moved is None:
            return []
        target[key] = moved
        for waiter in moved:
            self._missing[waiter] += -1 if is_there else 1
        return list(moved) if is_there else []
