"""An all_reduce, and ten wrong ones that people have written, with sends and receives."""

from __future__ import annotations

import itertools
from typing import Any

import minitorch_dist as mtd
import minitorch_dist.distributed as dist

ReduceOp = dist.ReduceOp


def combine(op: Any, into: Any, other: Any) -> None:
    if op == ReduceOp.SUM:
        into += other
    elif op == ReduceOp.MAX:
        into.copy_(mtd.maximum(into, other))
    else:
        into *= other


def me() -> tuple[int, int]:
    return dist.get_rank(), dist.get_world_size()


def parts(tensor: Any, size: int) -> list[Any]:
    ends = [tensor.numel() * i // size for i in range(size + 1)]
    return [tensor[a:b] for a, b in itertools.pairwise(ends)]


def exchange(out: Any, to: int, into: Any, source: int) -> None:
    work = dist.isend(out, to)
    dist.recv(into, source)
    work.wait()


def ring(tensor: Any, op: Any = ReduceOp.SUM, sign: int = -1) -> None:
    rank, size = me()
    chunks, left, right = parts(tensor, size), (rank - 1) % size, (rank + 1) % size
    for step in range(size - 1):
        into = chunks[(rank + sign * (step + 1)) % size]
        buffer = mtd.empty_like(into)
        exchange(chunks[(rank + sign * step) % size], right, buffer, left)
        combine(op, into, buffer)
    for step in range(size - 1):
        exchange(chunks[(rank + 1 - step) % size], right, chunks[(rank - step) % size], left)


def tutorial_of_2019(tensor: Any, op: Any = ReduceOp.SUM) -> None:
    """Two buffers take turns, and one branch adds the one that was sent (pytorch#31572)."""
    rank, size = me()
    left, right = (rank - 1) % size, (rank + 1) % size
    buffers = [tensor.clone(), mtd.empty_like(tensor)]
    for step in range(size - 1):
        exchange(buffers[step % 2], right, buffers[1 - step % 2], left)
        combine(op, tensor, buffers[0] if step % 2 == 0 else buffers[1])


def whole_tensor_round_the_ring(tensor: Any, op: Any = ReduceOp.SUM) -> None:
    """Right, with P/2 times the bytes (ARENA#407)."""
    rank, size = me()
    travelling = tensor.clone()
    for _ in range(size - 1):
        buffer = mtd.empty_like(tensor)
        exchange(travelling, (rank + 1) % size, buffer, (rank - 1) % size)
        combine(op, tensor, buffer)
        travelling = buffer


def plus_for_minus(tensor: Any, op: Any = ReduceOp.SUM) -> None:
    ring(tensor, op, sign=1)


def remainder_forgotten(tensor: Any, op: Any = ReduceOp.SUM) -> None:
    size = me()[1]
    ring(tensor[: tensor.numel() // size * size], op)


def accumulate_into_zeros(tensor: Any, op: Any = ReduceOp.SUM) -> None:
    """Right for sums; wrong for products, and for maxima of negative numbers."""
    rank, size = me()
    total, travelling = mtd.zeros_like(tensor), tensor.clone()
    combine(op, total, tensor)
    for _ in range(size - 1):
        buffer = mtd.empty_like(tensor)
        exchange(travelling, (rank + 1) % size, buffer, (rank - 1) % size)
        combine(op, total, buffer)
        travelling = buffer
    tensor.copy_(total)


def doubling_for_powers_only(tensor: Any, op: Any = ReduceOp.SUM) -> None:
    rank, size = me()
    distance = 1
    while distance < size:
        peer = rank ^ distance
        if peer < size:
            buffer = mtd.empty_like(tensor)
            exchange(tensor, peer, buffer, peer)
            combine(op, tensor, buffer)
        distance *= 2


def forwards_its_accumulator(tensor: Any, op: Any = ReduceOp.SUM) -> None:
    rank, size = me()
    for _ in range(size - 1):
        buffer = mtd.empty_like(tensor)
        exchange(tensor, (rank + 1) % size, buffer, (rank - 1) % size)
        combine(op, tensor, buffer)


def send_before_receive(tensor: Any, op: Any = ReduceOp.SUM) -> None:
    """A ring whose sends nobody is there to take (nanotron#115)."""
    rank, size = me()
    chunks, left, right = parts(tensor, size), (rank - 1) % size, (rank + 1) % size
    for step in range(size - 1):
        into = chunks[(rank - step - 1) % size]
        buffer = mtd.empty_like(into)
        dist.send(chunks[(rank - step) % size], right)
        dist.recv(buffer, left)
        combine(op, into, buffer)
    for step in range(size - 1):
        dist.send(chunks[(rank + 1 - step) % size], right)
        dist.recv(chunks[(rank - step) % size], left)


def adds_into_what_it_still_sends(tensor: Any, op: Any = ReduceOp.SUM) -> None:
    """Recursive doubling that adds before its own send is over: right wherever sends copy."""
    rank, size = me()
    if size & (size - 1):
        return ring(tensor, op)
    distance = 1
    while distance < size:
        buffer = mtd.empty_like(tensor)
        work = dist.isend(tensor, rank ^ distance)
        dist.recv(buffer, rank ^ distance)
        combine(op, tensor, buffer)
        work.wait()
        distance *= 2
    return None


def everything_through_rank_0(tensor: Any, op: Any = ReduceOp.SUM) -> None:
    """Right, and rank 0 pays for all."""
    rank, size = me()
    if rank:
        dist.send(tensor, 0)
        dist.recv(tensor, 0)
        return
    for other in range(1, size):
        buffer = mtd.empty_like(tensor)
        dist.recv(buffer, other)
        combine(op, tensor, buffer)
    for other in range(1, size):
        dist.send(tensor, other)


MUTANTS = {
    tutorial_of_2019: "exactly once",
    whole_tensor_round_the_ring: "cheap",
    plus_for_minus: "exactly once",
    remainder_forgotten: "exactly once",
    accumulate_into_zeros: "right",
    doubling_for_powers_only: "exactly once",
    forwards_its_accumulator: "exactly once",
    send_before_receive: "never stuck",
    adds_into_what_it_still_sends: "frozen",
    everything_through_rank_0: "cheap",
}
