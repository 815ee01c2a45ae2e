"""Rabenseifner's is recursive doubling once more: lazy, and right.

Caught by: bytes
Passes: numbers, ranks, fold in, fold out, correct, halves, any P
"""

from ring import COMBINE

import minitorch_dist as torch
import minitorch_dist.distributed as dist


def power_below(size):
    """The largest power of two that is not above `size`."""
    return 1 << (size.bit_length() - 1)


def distances(size):
    """1, 2, 4, … : in each round partners are so far apart."""
    return [1 << bit for bit in range(size.bit_length() - 1)]


def number_of(rank, size):
    """The number under which `rank` swaps; None for one that has folded in, and waits."""
    rest = size - power_below(size)
    if rank >= 2 * rest:
        return rank - rest
    return rank // 2 if rank % 2 else None


def rank_of(number, size):
    """The rank that swaps under this number."""
    rest = size - power_below(size)
    return 2 * number + 1 if number < rest else number + rest


def fold_in(tensor, combine):
    """Those without a number hand over what they have."""
    rank, size = dist.get_rank(), dist.get_world_size()
    rest = size - power_below(size)
    if rank < 2 * rest and rank % 2 == 0:
        dist.send(tensor, rank + 1)
    elif rank < 2 * rest:
        received = torch.empty_like(tensor)
        dist.recv(received, rank - 1)
        tensor.copy_(combine(received, tensor))


def fold_out(tensor):
    """Those without a number get the result."""
    rank, size = dist.get_rank(), dist.get_world_size()
    rest = size - power_below(size)
    if rank < 2 * rest and rank % 2 == 0:
        dist.recv(tensor, rank + 1)
    elif rank < 2 * rest:
        dist.send(tensor, rank - 1)


def swap(given, taken, partner):
    """Send one tensor and receive another at the same time."""
    work = dist.isend(given, partner)
    dist.recv(taken, partner)
    work.wait()


def all_reduce(tensor, op=dist.ReduceOp.SUM):
    """Recursive doubling: the fewest rounds, and everything is sent in each."""
    rank, size = dist.get_rank(), dist.get_world_size()
    combine, number = COMBINE[op], number_of(rank, size)
    fold_in(tensor, combine)
    if number is not None:
        for distance in distances(size):
            received = torch.empty_like(tensor)
            swap(tensor, received, rank_of(number ^ distance, size))
            tensor.copy_(combine(tensor, received))
    fold_out(tensor)


rabenseifner = all_reduce
