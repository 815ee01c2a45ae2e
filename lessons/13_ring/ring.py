"""All-reduce round a ring: every rank talks to its right neighbour only.

chunk     0    1    2              the tensor is cut into as many chunks as there are ranks
rank 0   [a0] [b0] [c0]            first half: partial sums travel once round the ring,
rank 1   [a1] [b1] [c1]                        each chunk begins at another rank
rank 2   [a2] [b2] [c2]            second half: the finished chunks travel round once more
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
        # BLANK 1: the first half. Which chunk goes to the right, which one comes from the left? (about 2 lines)
        # Rank r begins with chunk r. The chunk that comes in one step goes on in the next.
        going = (rank - step) % size
        coming = (rank - step - 1) % size
        # END
        received = torch.empty_like(parts[coming])
        work = dist.isend(parts[going], right)
        dist.recv(received, left)
        work.wait()
        parts[coming].copy_(COMBINE[op](parts[coming], received))
    for step in range(size - 1):
        # BLANK 2: the second half. Which chunk is finished here, and goes round? (about 2 lines)
        going = (rank + 1 - step) % size
        coming = (rank - step) % size
        # END
        work = dist.isend(parts[going], right)
        dist.recv(parts[coming], left)
        work.wait()
