"""Who takes part in a world that workers join one by one: a list in the store, changed all at once.

    enter    old ─► old + us        one compare_set: our name and number are ours, and those before us
                                    in the list are whom we have to reach
    strike   old ─► old - somebody  who leaves strikes himself; who finds a dead one strikes that

Two who come at the same moment get places one after the other, and the later one reaches the earlier.
Nobody holds a lock, so nobody can die with one in his hand.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from transports.stores.store import Store

KEY: Final = "roll"


class Entry(NamedTuple):
    """One worker, once: who comes again has another mark."""

    id: int
    name: str
    card: str  # where the transport reaches it
    mark: str

    def __repr__(self) -> str:
        return f"<{self.name!r}, rank {self.id}>"


class Roll:
    def __init__(self, store: Store) -> None:
        self._store = store

    def entries(self) -> list[Entry]:
        return _read(self._store.compare_set(KEY, "", "[]"))

    def enter(
        self, id: int, name: str, card: str, is_there: Callable[[Entry], bool]
    ) -> tuple[Entry, list[Entry]]:
        """Our entry, and those who were there before. RuntimeError, in torch's words, where another
        one who lives has the name or the number; one who does not is struck."""
        mine = Entry(id, name, card, os.urandom(8).hex())
        while True:
            known = self._store.compare_set(KEY, "", "[]")
            others = _read(known)
            for other in others:
                if (other.id == id or other.name == name) and is_there(other):
                    raise RuntimeError(_taken(mine, other))
            others = [other for other in others if other.id != id and other.name != name]
            wanted = _written([*others, mine])
            if self._store.compare_set(KEY, known, wanted) == wanted:
                return mine, others

    def strike(self, entry: Entry) -> None:
        while True:
            known = self._store.compare_set(KEY, "", "[]")
            left = [other for other in _read(known) if other.mark != entry.mark]
            wanted = _written(left)
            if known == wanted or self._store.compare_set(KEY, known, wanted) == wanted:
                return

    def __repr__(self) -> str:
        return f"<Roll in {self._store!r}>"


def _taken(mine: Entry, other: Entry) -> str:
    if other.name == mine.name:
        return (
            f"RPC worker name {mine.name} is not unique. Workers {mine.id} and {other.id} share the "
            "same name."
        )
    return (
        f"RPC worker id {mine.id} is not unique. Workers {mine.name} and {other.name} share the same "
        "id."
    )


def _read(text: bytes) -> list[Entry]:
    return [Entry(*entry) for entry in json.loads(text)]


def _written(entries: list[Entry]) -> bytes:
    listed: list[list[Any]] = [list(entry) for entry in entries]
    return json.dumps(listed).encode()
