"""The results of a collective in all ranks' arrays, where they do it together.

The ranks' arrays are those that the executor would be given. "work" is for written arrays, "source" for
read ones, with a rank where a collective takes lists. The bits are those of the messages (see
`vectorised_values`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minitorch_dist.distributed.exceptions import DistMismatch
from minitorch_dist.distributed.mail.receives import Array
from minitorch_dist.distributed.prepared import PreparedCall
from minitorch_dist.distributed.reductions import CombineFunction
from minitorch_dist.distributed.schedules.schedule import Schedule
from minitorch_dist.sim.fast import vectorised_values
from minitorch_dist.tensors.shape_arrays.array import has_numbers

Integers = NDArray[np.int64]


def compute(
    schedule: Schedule, sizes: Integers, arrays: list[Mapping[Any, Array]], combine: CombineFunction | None
) -> None:
    """Put into all ranks' arrays what the collective promises."""
    size, collective = len(arrays), schedule.collective
    if not has_numbers(next(iter(arrays[0].values()), None)):
        return
    if collective == "all_reduce":
        assert combine is not None
        vectorised_values.all_reduce(schedule, [own["work"] for own in arrays], sizes, combine)
    elif collective == "reduce_scatter":
        assert combine is not None
        inputs = [
            own["source"] if "source" in own else np.concatenate([own["source", to] for to in range(size)])
            for own in arrays
        ]
        results = [own["work"] for own in arrays]
        vectorised_values.reduce_scatter(schedule, inputs, results, sizes, combine)
    elif collective == "all_gather" and "work" in arrays[0]:
        ends = np.cumsum(sizes).tolist()
        whole = np.concatenate([own["work"][end - n : end] for own, end, n in zip(arrays, ends, sizes, strict=True)])
        for own in arrays:
            own["work"][:] = whole
    elif collective == "all_gather":
        parts = [own["work", rank].copy() for rank, own in enumerate(arrays)]
        for own in arrays:
            for rank, part in enumerate(parts):
                own["work", rank][:] = part
    elif collective == "all_to_all":
        given = [[own["source", to].copy() for to in range(size)] for own in arrays]
        for to, own in enumerate(arrays):
            for source in range(size):
                own["work", source][:] = given[source][to]


def sizes_of(call: PreparedCall, arrays: Sequence[Mapping[Any, Array]]) -> Integers:
    """Elements of each chunk; where ranks give lists of arrays, they must give the same ones."""
    schedule, size, first = call.schedule, len(arrays), arrays[0]
    if schedule.collective == "barrier":
        return np.zeros(schedule.total(size), np.int64)
    itemsize = next(iter(first.values())).itemsize
    if schedule.collective == "all_to_all":
        given = np.array([[own["source", to].size for to in range(size)] for own in arrays])
        taken = np.array([[own["work", of].size for of in range(size)] for own in arrays])
        if (given != taken.T).any():
            of, to = (int(at[0]) for at in np.nonzero(given != taken.T))
            raise DistMismatch(
                f"in {call.fingerprint.operation} rank {of} has {given[of, to]} elements for rank "
                f"{to}, which expects {taken[to, of]}. Sender and receiver must name the same number"
            )
        if (given == given[0, 0]).all():
            given = given[0]
        return np.array(given.reshape(-1), np.int64)
    if "source" in first or ("work" in first and schedule.collective != "reduce_scatter"):
        return schedule.sizes(size, call.nbytes // itemsize)
    kind = "source" if schedule.collective == "reduce_scatter" else "work"
    lists = np.array([[own[kind, rank].size for rank in range(size)] for own in arrays])
    if (lists != lists[0]).any():
        rank = int(np.nonzero((lists != lists[0]).any(axis=1))[0][0])
        raise DistMismatch(
            f"in {call.fingerprint.operation} rank 0 has lists of {lists[0].tolist()} elements and "
            f"rank {rank} of {lists[rank].tolist()}: they must be the same on all ranks"
        )
    return np.array(lists[0], np.int64)
