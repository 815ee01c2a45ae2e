"""Finding each other: ranks, barriers and groups, out of a small key-value store.

                  the store
    a process ──► "joined": 1 ──►  "I am rank 0"      No process knows the others' addresses, and
    a process ──► "joined": 2 ──►  "I am rank 1"      none is special. All know one store.
    a process ──► "joined": 3 ──►  "I am rank 2"

The store does each of these commands in one step, so that nobody comes in between:

    add(key, n)                      adds to a counter that begins at 0; returns what it is now
    set(key, text)   get(key)        (bytes come back)
    wait([key, …])                   returns when all of these keys are there
    check([key, …])                  whether they are
    compare_set(key, "", text)       sets it if it is not there yet; returns what is there now
    delete_key(key)
"""

import sys
from pathlib import Path

from .face.store import PrefixStore

KEYS = ("came", "open", "doing")  # of one round: "came/0", "open/0", …


class Mismatch(RuntimeError):
    """Two ranks came to the same round for different things."""


class Meeting:
    """Ranks that have found each other, and can wait for each other as often as they like."""

    def __init__(self, store, rank, size):
        self.store, self.rank, self.size = store, rank, size
        self.round = 0  # in how many barriers this rank has been
        self.groups = 0

    @classmethod
    def join(cls, store, size):
        """The first to come is rank 0; the last of `size` is rank size - 1."""
        rank = store.add("joined", 1) - 1
        if rank >= size:
            raise RuntimeError(f"join found rank {rank}, and {size} ranks are 0 to {size - 1}")
        return cls(store, rank, size)

    def barrier(self):
        """Return when all ranks have come. Next time it is another round."""
        here, before = self.round, self.round - 1
        self.round += 1
        if self.store.add(f"came/{here}", 1) == self.size:
            self.store.set(f"open/{here}", "")
            for name in KEYS:
                self.store.delete_key(f"{name}/{before}")
        self.store.wait([f"open/{here}"])

    def together(self, operation):
        """A barrier for one operation.

        If a rank comes for another operation than the first did, all ranks
        raise a Mismatch, which names both with their lines.
        """
        frame = sys._getframe(1)
        site = f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
        here, mine = self.round, f"rank {self.rank} is in {operation} at {site}"
        first = self.store.compare_set(f"doing/{here}", "", f"{operation}\n{mine}").decode()
        if first.split("\n")[0] != operation:
            first_one = first.split("\n")[1]
            self.store.set(f"mismatch/{here}", f"{first_one}; {mine}")
        self.barrier()
        if self.store.check([f"mismatch/{here}"]):
            raise Mismatch(self.store.get(f"mismatch/{here}").decode())

    def new_group(self, ranks):
        """A meeting of some of us, numbered as in `ranks`; None for the others. All ranks call it,
        in the same order. Its keys have a prefix of their own: groups never see each other's."""
        name = f"group {self.groups}: {ranks}"
        self.groups += 1
        if self.rank not in ranks:
            return None
        return Meeting(PrefixStore(name, self.store), ranks.index(self.rank), len(ranks))

    def __repr__(self):
        return f"<Meeting rank {self.rank} of {self.size}, after {self.round} rounds>"
