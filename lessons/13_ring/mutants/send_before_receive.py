"""Everybody first sends and then receives.

Right wherever a send returns at once. Where it waits for its receive, as it may, everybody waits for the right neighbour, all the way
round. A plug-in whose isend did so stopped a training of three machines for 13 hours.

Caught by: never stuck
Passes: correct, exactly once, bytes
Seen: https://github.com/autoscriptlabs/nccl-mesh-plugin/pull/19
Seen: https://github.com/NVIDIA/nccl/issues/479
"""

import minitorch_dist as torch
import minitorch_dist.distributed as dist


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
    """Make `tensor`, on every rank, the sum (or what `op` says) of all ranks' tensors."""
    rank, size = dist.get_rank(), dist.get_world_size()
    left, right = (rank - 1) % size, (rank + 1) % size
    parts = chunks(tensor.view(-1), size)
    for step in range(size - 1):
        going = (rank - step) % size
        coming = (rank - step - 1) % size
        received = torch.empty_like(parts[coming])
        dist.send(parts[going], right)
        dist.recv(received, left)
        parts[coming].copy_(COMBINE[op](parts[coming], received))
    for step in range(size - 1):
        going = (rank + 1 - step) % size
        coming = (rank - step) % size
        dist.send(parts[going], right)
        dist.recv(parts[coming], left)
