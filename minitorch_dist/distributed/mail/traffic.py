"""The messages of one rank to and from each other one, and its threads, for `circles`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from threading import get_ident  # noqa: TID251 - tells threads apart; nothing waits


class Traffic:
    """`sends` and `came` count messages of send and recv by peer. `callers` are the program's threads that have waited.
    `workers` are ours, each with the number of the group whose operation it carries out. `awaited`: the number of the
    group for whose worker a caller waits without a timeout."""

    def __init__(self) -> None:
        self.sends, self.came = Counter[int](), Counter[int]()
        self.callers = set[int]()
        self.workers, self.awaited = dict[int, int](), dict[int, int]()

    @contextmanager
    def waits_for_worker(self, group: int) -> Iterator[None]:
        """The calling thread does, within the block."""
        self.callers.add(get_ident())
        self.awaited[get_ident()] = group
        try:
            yield
        finally:
            del self.awaited[get_ident()]


NOBODYS = Traffic()
"""Of all simulated ranks: nobody asks it, as their clock finds a deadlock at once."""
