"""All-reduce round a ring: every rank talks to its right neighbour only.

chunk     0    1    2              the tensor is cut into as many chunks as there are ranks
rank 0   [a0] [b0] [c0]            first half: partial sums travel once round the ring,
rank 1   [a1] [b1] [c1]                        each chunk begins at another rank
rank 2   [a2] [b2] [c2]            second half: the finished chunks travel round once more
"""

from .face import tensors as torch
from .face import distributed as dist


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


def all_gather(output, tensor):
    """Make part r of `output`, on every rank, the tensor of rank r.

    `output` is one tensor of P equally long parts: cut it with `chunks`.
    """
    rank, size = dist.get_rank(), dist.get_world_size()
    parts = chunks(output.view(-1), size)
    parts[rank].copy_(tensor.view(-1))
    for step in range(size - 1):
        work = dist.isend(parts[(rank - step) % size], (rank + 1) % size)
        dist.recv(parts[(rank - step - 1) % size], (rank - 1) % size)
        work.wait()


def reduce_scatter(output, tensor, op=dist.ReduceOp.SUM):
    """Make `output`, on rank r, the sum (or what `op` says)
    of part r of all ranks' tensors, which stay as they are.
    """
    rank, size = dist.get_rank(), dist.get_world_size()
    parts = chunks(tensor.view(-1), size)
    partial = parts[(rank - 1) % size]
    for step in range(size - 1):
        received = torch.empty_like(output)
        work = dist.isend(partial, (rank + 1) % size)
        dist.recv(received, (rank - 1) % size)
        work.wait()
        partial = COMBINE[op](parts[(rank - step - 2) % size], received)
    output.copy_(partial)


def all_to_all(output, tensor):
    """Make part r of `output`, on rank s, part s of the tensor of rank r.

    Both are tensors of P equally long parts.
    """
    rank, size = dist.get_rank(), dist.get_world_size()
    given, taken = chunks(tensor.view(-1), size), chunks(output.view(-1), size)
    taken[rank].copy_(given[rank])
    for step in range(1, size):
        to, source = (rank + step) % size, (rank - step) % size
        work = dist.isend(given[to], to)
        dist.recv(taken[source], source)
        work.wait()
