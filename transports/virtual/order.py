"""In which order may simulated threads run that all could? A policy: first come first served, or by seed.

Both have what is used of a deque: `append`, `popleft`, and whether there is anything.
"""

from __future__ import annotations

import zlib
from collections import deque

from transports.virtual.sim_thread import SimThread


class Shuffled:
    """Any of them, as the seed says: the n-th choice depends on the seed and on n alone."""

    def __init__(self, seed: int) -> None:
        self._seed, self._choices = seed, 0
        self._waiting: list[SimThread] = []

    def append(self, sim_thread: SimThread) -> None:
        self._waiting.append(sim_thread)

    def popleft(self) -> SimThread:
        waiting = self._waiting
        at = 0
        if len(waiting) > 1:
            self._choices += 1
            at = zlib.crc32(b"%d %d" % (self._seed, self._choices)) % len(waiting)
        waiting[at], waiting[-1] = waiting[-1], waiting[at]
        return waiting.pop()

    def __len__(self) -> int:
        return len(self._waiting)


def order(seed: int | None) -> deque[SimThread] | Shuffled:
    return deque() if seed is None else Shuffled(seed)
