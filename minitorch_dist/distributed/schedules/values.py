"""Arrays as the contents of a `replay`: a collective without ranks, threads or transport.

The result is bit for bit that of the executor over any transport, because the order of addition is the
schedule's. Two values that meet are added with the lower rank's first.

    values = Values(ring.all_reduce, [x0, x1, x2], numpy.add)
    Replay(ring.all_reduce, 3, x0.nbytes, itemsize=x0.itemsize, contents=values).run()
    values.result(0)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minitorch_dist.distributed.schedules import proof
from minitorch_dist.distributed.schedules.schedule import Schedule

Array = NDArray[Any]


class Values:
    """The data of every rank. `vectors[rank]` is the whole vector, of which the schedule's collective lets it
    hold its part (all ranks' vectors have the same length).
    """

    def __init__(self, schedule: Schedule, vectors: Sequence[Array], combine: Any = np.add, root: int = 0) -> None:
        self.schedule, self.size, self.combine_values = schedule, len(vectors), combine
        self.root, self.total = root, schedule.total(self.size)
        self.sizes = schedule.sizes(self.size, len(vectors[0]))
        ends = [0, *np.cumsum(self.sizes).tolist()]
        first = proof.starts(schedule.collective, self.size, self.total, root)
        self.held: list[dict[int, Array]] = [
            {
                int(chunk): vector[ends[chunk % len(self.sizes)] : ends[chunk % len(self.sizes) + 1]]
                for chunk in np.flatnonzero(first[rank])
            }
            for rank, vector in enumerate(vectors)
        ]

    def take(self, rank: int, chunks: list[int]) -> list[Array]:
        return [self.held[rank][chunk].copy() for chunk in chunks]

    def put(self, rank: int, chunks: list[int], message: list[Array], source: int, reduce: bool) -> None:
        for chunk, theirs in zip(chunks, message, strict=True):
            if reduce:
                mine = self.held[rank][chunk]
                both = (theirs, mine) if source < rank else (mine, theirs)
                self.held[rank][chunk] = self.combine_values(*both)
            else:
                self.held[rank][chunk] = theirs

    def combine(self, rank: int, into: int, of: int, reduce: bool) -> None:
        held = self.held[rank]
        held[into] = self.combine_values(held[into], held[of]) if reduce else held[of].copy()

    def result(self, rank: int) -> Array:
        """The chunks that the collective promises this rank, one after the other."""
        mine = proof.ends(self.schedule.collective, self.size, self.total, self.root)[rank]
        parts = [self.held[rank][int(chunk)] for chunk in np.flatnonzero(mine)]
        return np.concatenate(parts) if parts else np.empty(0)
