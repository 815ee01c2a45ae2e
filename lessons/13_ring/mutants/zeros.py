"""The sum begins at zero, so everything begins at zero.

0 + x is x. But 0 · x is 0, and the maximum of 0 and -3 is 0.

Caught by: correct
Passes: exactly once, never stuck
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
    total = torch.zeros_like(tensor)
    total.copy_(COMBINE[op](total, tensor))
    parts = chunks(total.view(-1), size)
    for step in range(size - 1):
        going = (rank - step) % size
        coming = (rank - step - 1) % size
        received = torch.empty_like(parts[coming])
        work = dist.isend(parts[going], right)
        dist.recv(received, left)
        work.wait()
        parts[coming].copy_(COMBINE[op](parts[coming], received))
    for step in range(size - 1):
        going = (rank + 1 - step) % size
        coming = (rank - step) % size
        work = dist.isend(parts[going], right)
        dist.recv(parts[coming], left)
        work.wait()
    tensor.copy_(total)
