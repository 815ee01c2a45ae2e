"""A store at a distance, for lesson 10. It stands here and not in the check: a report of a deadlock then names the learner's line."""

from __future__ import annotations

import random  # noqa: TID251 - in a simulated run it follows the run's seed
from collections import Counter
from collections.abc import Sequence
from typing import Final

from minitorch_dist import sim
from transports.stores.store import Store

WAYS: Final = (1, 2, 5, 20, 100)  # microseconds to the store, or back


class FarStore(Store):
    """A store whose answers take some time, another each time. Each command is done at once, there."""

    def __init__(self, store: Store) -> None:
        super().__init__(store.timeout)
        self.store = store
        self.commands: Counter[str] = Counter()  # how often each was asked for

    def command(self, operation: str, keys: Sequence[str], values: Sequence[bytes], timeout: float) -> list[bytes]:
        self.commands[operation] += 1
        sim.compute(f"{random.choice(WAYS)}us")
        answer = self.store.command(operation, keys, values, timeout)
        sim.compute(f"{random.choice(WAYS)}us")
        return answer
