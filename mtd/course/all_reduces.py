"""Right ways to write an all_reduce, and ten wrong ones that people have written, with sends and receives.

For those who write checks: `scoring.score` says how many of WRONG a check finds, and whether it accepts RIGHT.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import Tensor
from minitorch_dist.distributed.reduce_op import RedOpType as Op

PROGRAM = True  # errors name its lines
ReduceOp = dist.ReduceOp
AllReduce = Callable[..., None]


def combine(op: Op, into: Tensor, other: Tensor) -> None:
    if op == ReduceOp.SUM:
        into += other
    elif op == ReduceOp.MAX:
        into.copy_(torch.maximum(into, other))
    elif op == ReduceOp.MIN:
        into.copy_(torch.minimum(into, other))
    else:
        into *= other


def me() -> tuple[int, int]:
    return dist.get_rank(), dist.get_world_size()


def parts(tensor: Tensor, size: int) -> list[Tensor]:
    ends = [tensor.numel() * i // size for i in range(size + 1)]
    return [tensor[a:b] for a, b in itertools.pairwise(ends)]


def exchange(out: Tensor, to: int, into: Tensor, source: int) -> None:
    work: Any = dist.isend(out, to)
    dist.recv(into, source)
    work.wait()


def rings(tensor: Tensor, op: Op, way: int = 1, sign: int = -1, swap: Callable[..., None] = exchange) -> None:
    """Chunks, one for each rank, go round and are added up, and go round once more: to the right, or to the left."""
    rank, size = me()
    chunks, to, source = parts(tensor, size), (rank + way) % size, (rank - way) % size
    for step in range(size - 1):
        into = chunks[(rank + way * sign * (step + 1)) % size]
        buffer = torch.empty_like(into)
        swap(chunks[(rank + way * sign * step) % size], to, buffer, source)
        combine(op, into, buffer)
    for step in range(size - 1):
        swap(chunks[(rank + way * (1 - step)) % size], to, chunks[(rank - way * step) % size], source)


def goes_round(total: Tensor, travelling: Tensor, op: Op) -> None:
    """Whole tensors go round the ring, and each rank adds those of all others to its total."""
    rank, size = me()
    for _ in range(size - 1):
        buffer = torch.empty_like(total)
        exchange(travelling, (rank + 1) % size, buffer, (rank - 1) % size)
        combine(op, total, buffer)
        travelling = buffer


def ring(tensor: Tensor, op: Op = ReduceOp.SUM) -> None:
    """The ring."""
    rings(tensor, op)


def leftwards(tensor: Tensor, op: Op = ReduceOp.SUM) -> None:
    """The ring the other way round."""
    rings(tensor, op, way=-1)


def up_and_down_a_tree(tensor: Tensor, op: Op = ReduceOp.SUM) -> None:
    """Pairs, then pairs of pairs, up to rank 0; and the same paths back."""
    rank, size = me()
    distances = [1 << bit for bit in range((size - 1).bit_length())]
    for distance in distances:
        if rank % (2 * distance) == distance:
            dist.send(tensor, rank - distance)
        elif rank % (2 * distance) == 0 and rank + distance < size:
            buffer = torch.empty_like(tensor)
            dist.recv(buffer, rank + distance)
            combine(op, tensor, buffer)
    for distance in reversed(distances):
        if rank % (2 * distance) == distance:
            dist.recv(tensor, rank - distance)
        elif rank % (2 * distance) == 0 and rank + distance < size:
            dist.send(tensor, rank + distance)


def doubling(tensor: Tensor, op: Op = ReduceOp.SUM) -> None:
    """The library's recursive doubling, which folds where there is no power of two."""
    dist.all_reduce(tensor, op, algorithm="recursive_doubling")


def halving_and_doubling(tensor: Tensor, op: Op = ReduceOp.SUM) -> None:
    """The library's, after Rabenseifner."""
    dist.all_reduce(tensor, op, algorithm="rabenseifner")


def tutorial_of_2019(tensor: Tensor, op: Op = ReduceOp.SUM) -> None:
    """A received tensor is never added: two buffers take turns, but its arguments are added (pytorch#31572)."""
    rank, size = me()
    result, total = torch.zeros_like(tensor), tensor.clone()
    buffers = [torch.zeros_like(tensor), torch.zeros_like(tensor)]
    for step in range(size - 1):
        work: Any = dist.isend(buffers[step % 2], (rank + 1) % size)
        dist.recv(buffers[1 - step % 2], (rank - 1) % size)
        combine(op, total, result if step % 2 == 0 else tensor)
        work.wait()
    tensor.copy_(total)


def whole_tensor_round_the_ring(tensor: Tensor, op: Op = ReduceOp.SUM) -> None:
    """Right, with P/2 times the bytes (where it was seen, with P times: ARENA#407)."""
    goes_round(tensor, tensor.clone(), op)


def plus_for_minus(tensor: Tensor, op: Op = ReduceOp.SUM) -> None:
    """The chunks run against the ring."""
    rings(tensor, op, sign=1)


def remainder_forgotten(tensor: Tensor, op: Op = ReduceOp.SUM) -> None:
    """The elements beyond a multiple of P are in no chunk."""
    size = me()[1]
    ring(tensor[: tensor.numel() // size * size], op)


def accumulate_into_zeros(tensor: Tensor, op: Op = ReduceOp.SUM) -> None:
    """Right for sums; wrong for products, and for maxima of negative numbers."""
    total = torch.zeros_like(tensor)
    combine(op, total, tensor)
    goes_round(total, tensor.clone(), op)
    tensor.copy_(total)


def doubling_for_powers_only(tensor: Tensor, op: Op = ReduceOp.SUM) -> None:
    """A partner that does not exist is left out, and with it what it stood for."""
    rank, size = me()
    distance = 1
    while distance < size:
        peer = rank ^ distance
        if peer < size:
            buffer = torch.empty_like(tensor)
            exchange(tensor, peer, buffer, peer)
            combine(op, tensor, buffer)
        distance *= 2


def forwards_its_accumulator(tensor: Tensor, op: Op = ReduceOp.SUM) -> None:
    """It passes on its sum, and not what has come in: counted again by everybody."""
    rank, size = me()
    for _ in range(size - 1):
        buffer = torch.empty_like(tensor)
        exchange(tensor, (rank + 1) % size, buffer, (rank - 1) % size)
        combine(op, tensor, buffer)


def send_before_receive(tensor: Tensor, op: Op = ReduceOp.SUM) -> None:
    """A ring whose sends nobody is there to take."""
    rings(tensor, op, swap=one_after_the_other)


def one_after_the_other(out: Tensor, to: int, into: Tensor, source: int) -> None:
    dist.send(out, to)
    dist.recv(into, source)


def adds_into_what_it_still_sends(tensor: Tensor, op: Op = ReduceOp.SUM) -> None:
    """Recursive doubling that adds before its own send is over: right wherever sends copy."""
    rank, size = me()
    if size & (size - 1):
        return ring(tensor, op)
    distance = 1
    while distance < size:
        buffer = torch.empty_like(tensor)
        work: Any = dist.isend(tensor, rank ^ distance)
        dist.recv(buffer, rank ^ distance)
        combine(op, tensor, buffer)
        work.wait()
        distance *= 2
    return None


def everything_through_rank_0(tensor: Tensor, op: Op = ReduceOp.SUM) -> None:
    """Right, and rank 0 pays for all."""
    rank, size = me()
    if rank:
        dist.send(tensor, 0)
        dist.recv(tensor, 0)
        return
    for other in range(1, size):
        buffer = torch.empty_like(tensor)
        dist.recv(buffer, other)
        combine(op, tensor, buffer)
    for other in range(1, size):
        dist.send(tensor, other)


def swaps_finished_chunks(tensor: Tensor, op: Op = ReduceOp.SUM) -> None:
    """The sums are right, but the first chunk and the last lie in each other's place."""
    size = me()[1]
    ring(tensor, op)
    chunks = parts(tensor, size)
    length = min(chunks[0].numel(), chunks[-1].numel())
    first = chunks[0][:length].clone()
    chunks[0][:length].copy_(chunks[-1][:length])
    chunks[-1][:length].copy_(first)


def by_order_of_arrival(tensor: Tensor, op: Op = ReduceOp.SUM) -> None:
    """Finished chunks are taken from anybody; the n-th to arrive counts as that of the n-th rank to the left."""
    rank, size = me()
    if tensor.numel() % size:
        return ring(tensor, op)
    total = tensor.clone()
    ring(total, op)
    mine, chunks = parts(total, size)[rank], parts(tensor, size)
    works: list[Any] = [dist.isend(mine, (rank + step) % size) for step in range(1, size)]
    chunks[rank].copy_(mine)
    for step in range(1, size):
        dist.recv(chunks[(rank - step) % size])
    for work in works:
        work.wait()
    return None


RIGHT: tuple[AllReduce, ...] = (ring, leftwards, up_and_down_a_tree, doubling, halving_and_doubling)
WRONG: tuple[AllReduce, ...] = (
    tutorial_of_2019,
    whole_tensor_round_the_ring,
    plus_for_minus,
    remainder_forgotten,
    accumulate_into_zeros,
    doubling_for_powers_only,
    forwards_its_accumulator,
    send_before_receive,
    adds_into_what_it_still_sends,
    everything_through_rank_0,
)
