"""Direct: each rank exchanges messages with each rank concerned, one after the other. The naive form of all
collectives.

    broadcast, size 4        0 ─► 1    then    0 ─► 2    then    0 ─► 3

                       rounds   bytes a rank sends        total messages
    broadcast          p-1      (p-1) n at the root       p-1
    reduce             p-1      n                         p-1
    gather             p-1      n/p                       p-1
    scatter            p-1      (p-1)/p n at the root     p-1
    all_reduce         2(p-1)   (p-1) n at rank 0         2(p-1)
    all_gather         p-1      (p-1)/p n                 p(p-1)
    reduce_scatter     p-1      (p-1)/p n                 p(p-1)
    all_to_all         p-1      (p-1)/p n                 p(p-1)
    barrier            2(p-1)   0                         2(p-1)

The root's port is the bottleneck: messages that meet at one receiver (*incast*) come in one by one.
Reductions add in the order of ranks, beginning with the root's own values.
"""

from __future__ import annotations

from minitorch_dist.distributed.schedules.schedule import none, schedule, single
from minitorch_dist.distributed.schedules.steps import Exchange, Rank, Receive, Send, Span, Steps


@schedule(chunks=single)
def broadcast(rank: Rank, size: int, root: int = 0) -> Steps:
    for other in others(root, size):
        yield Send(to=other, chunks=0, only=rank == root)
        yield Receive(source=root, chunks=0, only=rank == other)


@schedule(chunks=single)
def reduce(rank: Rank, size: int, root: int = 0) -> Steps:
    for other in others(root, size):
        yield Send(to=root, chunks=0, only=rank == other)
        yield Receive(source=other, chunks=0, reduce=True, only=rank == root)


@schedule()
def scatter(rank: Rank, size: int, root: int = 0) -> Steps:
    for other in others(root, size):
        yield Send(to=other, chunks=other, only=rank == root)
        yield Receive(source=root, chunks=other, only=rank == other)


@schedule()
def gather(rank: Rank, size: int, root: int = 0) -> Steps:
    for other in others(root, size):
        yield Send(to=root, chunks=other, only=rank == other)
        yield Receive(source=other, chunks=other, only=rank == root)


@schedule(chunks=single)
def all_reduce(rank: Rank, size: int) -> Steps:
    """Everything to rank 0 and back: right, and the slowest of all as ranks are added."""
    yield from reduce(rank, size)
    yield from broadcast(rank, size)


@schedule()
def all_gather(rank: Rank, size: int) -> Steps:
    for step in range(1, size):
        source = (rank - step) % size
        yield Exchange(to=(rank + step) % size, send=rank, source=source, receive=source)


@schedule()
def reduce_scatter(rank: Rank, size: int) -> Steps:
    """Chunk j is added up on rank j: j, j-1, j-2, …"""
    for step in range(1, size):
        to = (rank + step) % size
        source = (rank - step) % size
        yield Exchange(to=to, send=to, source=source, receive=rank, reduce=True)


@schedule(chunks=lambda size: size * size)
def all_to_all(rank: Rank, size: int) -> Steps:
    for step in range(1, size):
        to = (rank + step) % size
        source = (rank - step) % size
        yield Exchange(to=to, send=block(rank, to, size), source=source, receive=block(source, rank, size))


@schedule(chunks=none)
def barrier(rank: Rank, size: int) -> Steps:
    """Everyone tells rank 0, rank 0 tells everyone."""
    for other in range(1, size):
        yield Send(to=0, chunks=(), only=rank == other)
        yield Receive(source=other, chunks=(), only=rank == 0)
    for other in range(1, size):
        yield Send(to=other, chunks=(), only=rank == 0)
        yield Receive(source=0, chunks=(), only=rank == other)


def others(root: int, size: int) -> list[int]:
    """All ranks but the root, from 0 on."""
    return [rank for rank in range(size) if rank != root]


def block(source: Rank, to: Rank, size: int) -> Span:
    """The chunk that `source` has for `to` in an all_to_all."""
    return Span(source * size + to, 1)
