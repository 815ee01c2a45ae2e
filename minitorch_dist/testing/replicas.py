"""Are the replicas equal, and are P ranks one rank? Both bit for bit.

check_replicas_equal(model)             called by every rank, wherever replicas must agree

def train(batches):                     the wrapper under test, on any number of ranks
    model = MyDataParallel(exact.Model())
    optimizer = SGD(model.parameters(), lr=exact.RATE)
    for batch in batches:               this rank's share of each batch; may be empty
        exact.step(model, optimizer, batch, ranks=dist.get_world_size())
    return model

check_same_as_one_rank(train)           P = 1 … 6, batches that no P divides
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import minitorch_dist.distributed as dist
from minitorch_dist.launching import launch
from minitorch_dist.optim import SGD
from minitorch_dist.tensors.core.base import Array
from minitorch_dist.testing import exact

SIZES = (1, 2, 3, 4, 5, 6)
BATCHES = (37, 23, 5, 13)  # samples in each batch: none is divided by all of SIZES, one is smaller


def check_replicas_equal(model: Any, group: Any = None) -> None:
    """Return if all ranks of the group hold the same parameters and buffers, else raise on all of them.

    The AssertionError names the first one that differs, the ranks, and the element. A collective: every
    rank calls it. `model` is a module, or a list of tensors.
    """
    mine = _named(model)
    every: list[Any] = [None] * dist.get_world_size(group)
    dist.all_gather_object(every, [(name, str(a.dtype), a.shape) for name, a in mine], group=group)
    for rank, theirs in enumerate(every):
        if theirs != every[0]:
            pairs = zip(every[0], theirs, strict=False)
            at = next((n for n, (a, b) in enumerate(pairs) if a != b), None)
            at = min(len(every[0]), len(theirs)) if at is None else at
            has = [row[at] if at < len(row) else "nothing" for row in (every[0], theirs)]
            raise AssertionError(
                f"the models differ in their parameters: as number {at} rank 0 has {has[0]} and "
                f"rank {rank} has {has[1]}"
            )
    dist.all_gather_object(every, [array.tobytes() for _, array in mine], group=group)
    for number, (name, array) in enumerate(mine):
        held = [row[number] for row in every]
        others = [rank for rank, raw in enumerate(held) if raw != held[0]]
        if others:
            raise AssertionError(_difference(name, array, held, others))


def check_same_as_one_rank(
    train: Callable[[list[exact.Data]], Any],
    sizes: Sequence[int] = SIZES,
    batches: Sequence[int] = BATCHES,
    transport: str = "sim://",
    alone: Callable[[list[exact.Data]], Any] | None = None,
) -> None:
    """Return if `train` ends with the weights of one rank that was given all samples, bit for bit.

    `train(batches)` runs on every rank with its share of each batch. It returns the model, or its weights
    as a list of arrays or tensors in the order of `exact.Model().parameters()`. One rank does plain SGD at
    `exact.RATE`, or what `alone(batches)` says, which returns a model or its weights, too; the samples are
    those of `exact.data`. For processes (transport="tcp://") `train` must be importable.
    """
    whole = [exact.data(count, seed) for seed, count in enumerate(batches)]
    wanted = [array.copy() for _, array in _named((alone or _alone)(whole))]
    names = [name for name, _ in exact.Model().named_parameters()]
    for size in sizes:
        for rank, found in enumerate(launch(_trained, size, transport, args=(train, whole))):
            if len(found) != len(wanted):
                raise AssertionError(
                    f"{_count(size)}: rank {rank} returned {len(found)} arrays of weights, where "
                    f"the model has {len(wanted)}: {', '.join(names)}"
                )
            for name, theirs, ours in zip(names, found, wanted, strict=True):
                if not exact.same([theirs], [ours]):
                    raise AssertionError(
                        f"{_count(size)}: {_unlike(name, rank, theirs, ours)}. Training is exact, so this is "
                        "no rounding: a gradient is missing, counted twice, or divided wrongly"
                    )


def _alone(whole: Sequence[exact.Data]) -> list[Array]:
    """The weights that one rank, without any wrapper, gets from all samples."""
    model = exact.Model()
    optimizer = SGD(model.parameters(), lr=exact.RATE)
    for batch in whole:
        exact.step(model, optimizer, batch)
        assert exact.bits(model.parameters()) <= 53, "these batches are too large to be exact"
    return exact.weights(model)


def _trained(train: Callable[[list[exact.Data]], Any], whole: Sequence[exact.Data]) -> list[Array]:
    rank, size = dist.get_rank(), dist.get_world_size()
    found = train([batch.shares(size)[rank] for batch in whole])
    return [array.copy() for _, array in _named(found)]


def _named(model: Any) -> list[tuple[str, Array]]:
    if hasattr(model, "named_parameters"):
        named = [*model.named_parameters(), *model.named_buffers()]
    else:
        named = [(f"tensor {number}", value) for number, value in enumerate(model)]
    return [(name, np.asarray(getattr(value, "array", value))) for name, value in named]


def _difference(name: str, array: Array, held: Sequence[bytes], others: Sequence[int]) -> str:
    theirs, ours = (
        np.frombuffer(raw, array.dtype).reshape(array.shape) for raw in (held[others[0]], held[0])
    )
    who = f"rank {others[0]} differs" if len(others) == 1 else f"ranks {_list(others)} differ"
    return f"{who} from rank 0 in {name}: {_unlike(name, others[0], theirs, ours, 'rank 0')}"


def _unlike(name: str, rank: int, theirs: Array, ours: Array, whose: str = "one rank alone") -> str:
    if theirs.shape != ours.shape or theirs.dtype != ours.dtype:
        return (
            f"{name} on rank {rank} is {theirs.dtype}{list(theirs.shape)}, and "
            f"{ours.dtype}{list(ours.shape)} on {whose}"
        )
    raw = [np.ascontiguousarray(a).reshape(-1) for a in (theirs, ours)]
    width = ours.dtype.itemsize
    octets = [a.view(np.uint8).reshape(-1, width) for a in raw]
    at = np.flatnonzero((octets[0] != octets[1]).any(axis=1))
    where = [int(i) for i in np.unravel_index(int(at[0]), ours.shape)]
    return (
        f"{name}{where} is {raw[0][at[0]]!s} on rank {rank} and {raw[1][at[0]]!s} on {whose} "
        f"({len(at)} of {ours.size} elements differ)"
    )


def _count(size: int) -> str:
    return "1 rank" if size == 1 else f"{size} ranks"


def _list(ranks: Sequence[int]) -> str:
    return ", ".join(map(str, ranks[:-1])) + f" and {ranks[-1]}"
