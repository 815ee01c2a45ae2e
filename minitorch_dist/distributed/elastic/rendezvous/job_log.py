"""The job's state as a list of entries in a store; the first node that comes writes the n-th.

    state/0  state/1  state/2  …            `compare_set` lets one write each of them; who comes second
                                            reads what was written, and decides anew

So all nodes see the same states in the same order, and a node that waits for a change waits for a key.
"""

from __future__ import annotations

from collections.abc import Callable

from minitorch_dist.distributed.elastic.rendezvous.state import JobState, StateEntry, unpacked
from transports.errors import StoreTimeout
from transports.stores.store import Store

Change = Callable[[JobState], JobState]


class JobLog:
    """`state` is the newest that this node has read."""

    def __init__(self, store: Store, author: str, beginning: JobState) -> None:
        self._store, self._author = store, author
        self._read(0, StateEntry(author, beginning))
        self.update()

    def _read(self, number: int, else_write: StateEntry) -> bool:
        """Entry `number`, which is written if it is not there; whether it was."""
        mine = else_write.packed()
        there = self._store.compare_set(f"state/{number}", "", mine)
        self.count, self.state = number, unpacked(there).state
        return there == mine.encode()

    def update(self) -> JobState:
        """Read what has been written since."""
        while self._store.check([f"state/{self.count + 1}"]):
            self.count += 1
            self.state = unpacked(self._store.get(f"state/{self.count}")).state
        return self.state

    def wait(self, seconds: float) -> JobState:
        """The next state, or after so long the present one."""
        try:
            self._store.wait([f"state/{self.count + 1}"], seconds)
        except StoreTimeout:
            return self.state
        return self.update()

    def apply(self, change: Change) -> JobState:
        """Write down what `change` makes of the present state, whichever that is by then."""
        while True:
            new = change(self.update())
            if new == self.state:
                return self.state
            author = f"{self._author}#{self.count + 1}"
            if self._read(self.count + 1, StateEntry(author, new)):
                return self.state
