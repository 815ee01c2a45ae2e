"""The same collectives over every real transport, in processes: equal to the replay, bit for bit."""

from __future__ import annotations

import functools
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from minitorch_dist.distributed import collectives, world
from minitorch_dist.distributed.prepared import How
from minitorch_dist.distributed.reductions import ReduceStep
from minitorch_dist.distributed.schedules import choice
from minitorch_dist.distributed.schedules.replay import Replay
from minitorch_dist.distributed.schedules.schedule import Schedule
from minitorch_dist.distributed.schedules.values import Values
from minitorch_dist.launching import launch

pytestmark = pytest.mark.slow
COUNTS = (0, 2, 1001, 700_001)  # the last in segments, and uneven
from tests.distributed.serving import serving


def rough(rank: int, count: int) -> np.ndarray:
    """Values whose sum depends on the order of addition."""
    rng = np.random.default_rng(1000 + rank)
    return (rng.standard_normal(count) * 10.0 ** rng.integers(-6, 7, count)).astype(np.float32)


def digest(*parts: np.ndarray) -> bytes:
    """Of the bits: the results themselves would be two gigabytes, which this process would keep."""
    return sha256(b"".join(part.tobytes() for part in parts)).digest()


def on_each_rank() -> dict[tuple[str, str, int], bytes]:
    """All algorithms of all collectives, thinned: what each left behind here."""
    group = world.current().default_group
    rank, size = group.rank(), group.size()
    found: dict[tuple[str, str, int], bytes] = {}
    root = size - 1
    for count in COUNTS:
        x = rough(rank, count * size)
        for name in serving("all_reduce", size):
            y = x[:count].copy()
            collectives.all_reduce(group, y, how=How(name))
            found["all_reduce", name, count] = digest(y)
        for name in serving("reduce", size):
            y = x[:count].copy()
            collectives.reduce(group, y, root, ReduceStep("max"), How(name))
            assert rank == root or y.tobytes() == x[:count].tobytes()
            found["reduce", name, count] = digest(y) if rank == root else b""
        for name in serving("broadcast", size):
            y = x[:count].copy()
            collectives.broadcast(group, y, root, How(name))
            found["broadcast", name, count] = digest(y)
        for name in serving("reduce_scatter", size):
            y = np.zeros(count, np.float32)
            collectives.reduce_scatter_from(group, y, x, how=How(name))
            found["reduce_scatter", name, count] = digest(y)
        for name in serving("all_gather", size):
            y = np.zeros(count * size, np.float32)
            collectives.all_gather_into(group, x[:count].copy(), y, How(name))
            found["all_gather", name, count] = digest(y)
        for name in serving("all_to_all", size):
            parts = list(np.zeros((size, count), np.float32))
            collectives.all_to_all(group, parts, list(x.reshape(size, count)), How(name))
            found["all_to_all", name, count] = digest(*parts)
    for name in serving("barrier", size):
        collectives.barrier(group, How(name))
    return found


@functools.cache  # the transports are asked one after the other
def expected(schedule: Schedule, size: int, count: int) -> list[bytes]:
    """The same from the schedule alone."""
    whole = [rough(rank, count * size) for rank in range(size)]
    kind = schedule.collective
    if kind in ("all_reduce", "reduce", "broadcast"):
        vectors = [x[:count] for x in whole]
    elif kind == "all_gather":
        vectors = [np.tile(x[:count], size) for x in whole]
    else:
        vectors = whole
    root = size - 1
    values = Values(schedule, vectors, np.maximum if kind == "reduce" else np.add, root)
    Replay(schedule, size, vectors[0].nbytes, itemsize=4, contents=values, root=root).run()
    if kind == "reduce":
        return [digest(values.result(r)) if r == root else b"" for r in range(size)]
    return [digest(values.result(rank)) for rank in range(size)]


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("transport", ["queue", "tcp", "file"])
def test_every_transport_gives_the_bits_of_the_schedule(transport: str, size: int, tmp_path: Path) -> None:
    address = f"file://{tmp_path}/ranks" if transport == "file" else f"{transport}://"
    found = launch(on_each_rank, size, address, timeout=300)
    for kind, name, count in found[0]:
        schedule = choice.known(kind)[name]
        if kind == "all_to_all":
            wanted = [
                digest(*(rough(source, count * size).reshape(size, count)[rank] for source in range(size)))
                for rank in range(size)
            ]
        else:
            wanted = expected(schedule, size, count)
        assert [results[kind, name, count] for results in found] == wanted, (kind, name, count)
