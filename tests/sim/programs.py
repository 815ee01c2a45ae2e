"""One collective with known inputs, as a program of a rank: what came out, byte for byte, and when."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from minitorch_dist import distributed as dist
from minitorch_dist.distributed import collectives, world
from minitorch_dist.distributed.prepared import How
from minitorch_dist.distributed.reductions import ReduceStep


def collective(
    name: str, algorithm: str | None, count: int, entries: Sequence[int] | None = None, op: str = "sum", root: int = 0
) -> tuple[bytes, int]:
    """`count` elements of float32 for each rank; `entries`: picoseconds after which each begins."""
    group, rank, size = world.current().default_group, dist.get_rank(), dist.get_world_size()
    clock = world.place().clock
    if entries is not None:
        clock.sleep(entries[rank] / 1e12)
    how, reduction = How(algorithm), ReduceStep(op)
    mine = np.random.default_rng(rank).standard_normal(count * size).astype(np.float32)
    out = mine[:count].copy()
    if name == "all_reduce":
        collectives.all_reduce(group, out, reduction, how)
    elif name == "broadcast":
        collectives.broadcast(group, out, root, how)
    elif name == "reduce":
        collectives.reduce(group, out, root, reduction, how)
    elif name == "all_gather":
        gathered = np.zeros(count * size, np.float32)
        collectives.all_gather_into(group, out, gathered, how)
        out = gathered
    elif name == "gather":
        parts = list(np.zeros((size, count), np.float32)) if rank == root else None
        collectives.gather(group, out, parts, root, how)
        out = np.concatenate(parts) if parts is not None else out
    elif name == "scatter":
        given = list(mine.reshape(size, count)) if rank == root else None
        collectives.scatter(group, out, given, root, how)
    elif name == "reduce_scatter":
        collectives.reduce_scatter_from(group, out, mine, reduction, how)
    elif name == "all_to_all":
        outputs = list(np.zeros((size, count), np.float32))
        collectives.all_to_all(group, outputs, list(mine.reshape(size, count)), how)
        out = np.concatenate(outputs)
    else:
        collectives.barrier(group, how)
    return out.tobytes(), clock.now()
