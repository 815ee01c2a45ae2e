"""Collective × dtype × op × size × algorithm over every real transport, thinned, against numpy.

All combinations stand in one list; each world takes every n-th of them, another n-th for each
transport and world size, so that together they cover what one transport alone would take minutes
for. Values are small whole numbers, so numpy's answer is exact in whatever order.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minitorch_dist.distributed import collectives, world
from minitorch_dist.distributed.prepared import How
from minitorch_dist.distributed.reductions import ReduceStep
from tests.distributed import nursery
from tests.distributed.test_collectives import DTYPES, folded, lengths, vector
from tests.transports.brokers import KEY, KINDS, Broker
from transports import keys

pytestmark = pytest.mark.slow
OPS = ["sum", "product", "min", "max"]
BITS = ["band", "bor", "bxor"]
REDUCING = ("all_reduce", "reduce", "reduce_scatter")
MOVING = ("broadcast", "all_gather", "all_to_all", "scatter", "gather")
LARGE = 70_001
from tests.distributed.serving import serving


def combinations(size: int) -> list[tuple[str, Any, str, int, str | None]]:
    counts = [*lengths(size), LARGE]
    found: list[tuple[str, Any, str, int, str | None]] = []
    for kind in (*REDUCING, *MOVING):
        for dtype, count, name in product(DTYPES, counts, [None, *serving(kind, size)]):
            ops = OPS + BITS * (dtype.kind in "biu") if kind in REDUCING else ["sum"]
            found += [(kind, dtype, op, count, name) for op in ops]
    return found


def carry_out(rank: int, stride: int, offset: int) -> int:
    """Every stride-th combination, the first at `offset`; how many were right."""
    size = world.current().world_size
    chosen = combinations(size)[offset::stride]
    for number, (kind, dtype, op, count, name) in enumerate(chosen):
        case = (kind, dtype, op, count, name)
        root, how = number % size, How(name)
        own = [vector(7 * number + r, count, dtype) for r in range(size)]
        whole = [vector(7 * number + r, count * size, dtype) for r in range(size)]
        got, expected = one(kind, rank, size, root, how, ReduceStep(op), own, whole)
        assert got.tobytes() == expected.tobytes(), case
    return len(chosen)


def one(
    kind: str, rank: int, size: int, root: int, how: How, op: ReduceStep, own: list[np.ndarray], whole: list[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """What a collective left here, and what it should have."""
    group, count, x = world.current().default_group, len(own[0]), own[rank].copy()
    mine = slice(rank * count, (rank + 1) * count)
    parts = [np.zeros_like(x) for _ in range(size)]
    if kind == "all_reduce":
        collectives.all_reduce(group, x, op, how)
        return x, folded(op.name, own)
    if kind == "reduce":
        collectives.reduce(group, x, root, op, how)
        return x, folded(op.name, own) if rank == root else own[rank]
    if kind == "reduce_scatter":
        collectives.reduce_scatter_from(group, x, whole[rank].copy(), op, how)
        return x, folded(op.name, whole)[mine]
    if kind == "broadcast":
        collectives.broadcast(group, x, root, how)
        return x, own[root]
    if kind == "all_gather":
        collectives.all_gather(group, x, parts, how)
        return np.concatenate(parts), np.concatenate(own)
    if kind == "all_to_all":
        collectives.all_to_all(group, parts, np.split(whole[rank], size), how)
        return np.concatenate(parts), np.concatenate([sent[mine] for sent in whole])
    if kind == "scatter":
        collectives.scatter(group, x, own if rank == root else None, root, how)
        return x, own[rank]
    collectives.gather(group, x, parts if rank == root else None, root, how)
    return np.concatenate(parts), np.concatenate(own if rank == root else parts)


def check(addresses: list[str], sizes: tuple[int, ...], stride: int, first: int) -> None:
    plan = [
        nursery.World(address, size, carry_out, (stride, (first + 13 * at) % stride))
        for at, (address, size) in enumerate(zip(addresses, sizes, strict=True))
    ]
    for made, results in zip(plan, nursery.run(plan), strict=True):
        expected = len(combinations(made.size)[made.given[1] :: stride])
        assert results == [expected] * made.size, (made.address, made.size, results)


@pytest.mark.parametrize("transport", ["tcp", "file", "append"])
def test_the_matrix(transport: str, tmp_path: Path) -> None:
    sizes = (2, 3, 5)
    places = {
        "tcp": ["tcp://"] * 3,
        "file": [f"file://{tmp_path}/{size}" for size in sizes],
        "append": [f"file://{tmp_path}/{size}?mode=append&segment=100000" for size in sizes],
    }
    check(places[transport], sizes, stride=101, first=len(transport))


@pytest.mark.parametrize("kind", KINDS)
def test_the_matrix_over_mqtt(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(keys.VARIABLE, KEY)
    broker = Broker(kind)
    try:
        addresses = [f"{broker.address}/{size}" for size in (2, 3)]
        check(addresses, (2, 3), stride=97, first=len(kind))
    finally:
        broker.stop()
