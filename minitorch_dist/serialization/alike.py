"""Keys that somebody else chose, on their way into a table: not many of one hash.

A dict or a set compares a key with all others of the same hash, so n of them take n² steps. Numbers
(and tuples of them) can be chosen so; the hashes of texts and bytes differ from process to process.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import Any, Final

MANY: Final = 256  # keys from which on it is worth to look
MOST: Final = 64  # that may have one hash


class Alike:
    """Counts the keys of each hash."""

    def __init__(self) -> None:
        self._times: Counter[int] = Counter()

    def count(self, key: Any) -> None:
        """One more key. ValueError if there are too many like it, TypeError if it has no hash."""
        if type(key) is not str and type(key) is not bytes:
            number = hash(key)
            self._times[number] += 1
            if self._times[number] > MOST:
                raise ValueError(f"more than {MOST} keys have the same hash")


def check(keys: Collection[Any]) -> None:
    """The same for all keys of a table."""
    if len(keys) > MANY:
        alike = Alike()
        for key in keys:
            alike.count(key)
