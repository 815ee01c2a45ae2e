"""Finished chunks in a variable that ranks share

FINISHED stands outside of the function. In the simulator ranks are threads of one process, so a rank reads there what
its neighbour has written. Of real ranks each has a FINISHED of its own.

Caught by: real wire
Passes: correct, exactly once, trains, bytes, rounds
"""

import minitorch_dist as torch
import minitorch_dist.distributed as dist

FINISHED = {}


def chunks(tensor, size):
    """A vector in `size` parts that differ by at most one element; some may be empty."""
    ends = [tensor.numel() * part // size for part in range(size + 1)]
    return [tensor[begin:end] for begin, end in zip(ends, ends[1:])]


COMBINE = {
    dist.ReduceOp.SUM: torch.add,
    dist.ReduceOp.PRODUCT: torch.mul,
    dist.ReduceOp.MAX: torch.maximum,
    dist.ReduceOp.MIN: torch.minimum,
}


def all_reduce(tensor, op=dist.ReduceOp.SUM):
    rank, size = dist.get_rank(), dist.get_world_size()
    left, right = (rank - 1) % size, (rank + 1) % size
    parts = chunks(tensor.view(-1), size)
    for step in range(size - 1):
        going, coming = (rank - step) % size, (rank - step - 1) % size
        received = torch.empty_like(parts[coming])
        work = dist.isend(parts[going], right)
        dist.recv(received, left)
        work.wait()
        parts[coming].copy_(COMBINE[op](parts[coming], received))
    for step in range(size - 1):
        going, coming = (rank + 1 - step) % size, (rank - step) % size
        FINISHED[rank, going] = parts[going].clone()
        work = dist.isend(parts[going], right)
        dist.recv(parts[coming], left)
        work.wait()
        parts[coming].copy_(FINISHED[left, coming])
