"""Small programs to record."""

from __future__ import annotations

import os
import signal

import minitorch_dist as torch
from minitorch_dist import distributed as dist, sim
from minitorch_dist.distributed import collectives, world
from minitorch_dist.distributed.prepared import How


def everything(count: int = 1001) -> float:
    """Operations of two groups, beside and in line; sends long and short, from anybody."""
    rank, size = dist.get_rank(), dist.get_world_size()
    x = torch.ones(count)
    dist.all_reduce(x)
    works = [dist.all_reduce(x, async_op=True), dist.broadcast(x, size - 1, async_op=True)]
    sim.compute("1ms")
    for work in works:
        work.wait()
    evens = dist.new_group(range(0, size, 2))
    if rank % 2 == 0:
        dist.all_reduce(x, group=evens)
    theirs = torch.zeros(30_000)
    given = [dist.isend(torch.ones(30_000) * rank, (rank + 1) % size, tag=t) for t in (7, 8)]
    asked = [dist.irecv(theirs, (rank - 1) % size, tag=t) for t in (8, 7)]
    for work in [*given, *asked]:
        assert work is not None
        work.wait()
    if rank:
        dist.send(torch.zeros(3), 0)
    else:
        for source in range(1, size):
            dist.recv(torch.zeros(3), source)
    dist.barrier()
    return float(x[0].item())


def ring(turns: int = 3, odd: int = -1) -> None:
    """A message passed round; in turn `odd`, rank 1 sends another one."""
    rank, size = dist.get_rank(), dist.get_world_size()
    x = torch.zeros(4)
    for turn in range(turns):
        tag = 5 if (turn, rank) == (odd, 1) else 0
        if rank == 0:
            dist.send(x, 1 % size, tag=tag)
        dist.recv(x, (rank - 1) % size, tag=5 if (turn, rank) == (odd, 2) else 0)
        if rank:
            dist.send(x, (rank + 1) % size, tag=tag)


def sum_by(algorithm: str, count: int = 64) -> None:
    group = world.current().default_group
    collectives.all_reduce(group, torch.ones(count).array, how=How(algorithm))


def one_is_killed() -> None:
    """Rank 1 dies in the second all_reduce; the others have completed the first, as it hears from them."""
    x = torch.ones(8)
    dist.all_reduce(x)
    if dist.get_rank() == 1:
        for other in (0, 2):
            dist.recv(x, other)
        os.kill(os.getpid(), signal.SIGKILL)
    dist.send(x, 1)
    dist.all_reduce(x)


def twice() -> None:
    """Leave the world and make it again."""
    dist.barrier()
    dist.destroy_process_group()
    dist.init_process_group()
    dist.barrier()
