"""The messages of one rank to and from each other one, and its threads, for `circles`."""

from __future__ import annotations

from collections import Counter


class MessageCounts:
    """`sends` and `came` count messages of send and recv by peer. `callers` are the program's threads that have waited.
    `workers` are ours, each with the number of the group whose operation it carries out. `awaited`: the number of the
    group for whose worker a caller waits without a timeout."""

    def __init__(self) -> None:
        self.sends, self.came = Counter[int](), Counter[int]()
        self.callers = set[int]()
        self.workers, self.awaited = dict[int, int](), dict[int, int]()


NOBODYS = MessageCounts()
"""Of all simulated ranks: nobody asks it, as their clock finds a deadlock at once."""
