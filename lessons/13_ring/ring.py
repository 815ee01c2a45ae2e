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


def all_gather(output, tensor):
    """Make part r of `output`, on every rank, the tensor of rank r.

    `output` is one tensor of P equally long parts: cut it with `chunks`.
    """
    # BLANK 3: the whole function. Your tensor is your part; then whole parts go round (about 7 lines)
    # It is the second half of all_reduce, but rank r begins with part r.
    rank, size = dist.get_rank(), dist.get_world_size()
    parts = chunks(output.view(-1), size)
    parts[rank].copy_(tensor.view(-1))
    for step in range(size - 1):
        work = dist.isend(parts[(rank - step) % size], (rank + 1) % size)
        dist.recv(parts[(rank - step - 1) % size], (rank - 1) % size)
        work.wait()
    # END


def reduce_scatter(output, tensor, op=dist.ReduceOp.SUM):
    """Make `output`, on rank r, the sum (or what `op` says)
    of part r of all ranks' tensors, which stay as they are.
    """
    # BLANK 4: the whole function. A sum of each part goes round, and ends at its rank (about 10 lines)
    # It is the first half of all_reduce, but the part
    # of rank r has to end there: where does it begin?
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
    # END


def all_to_all(output, tensor):
    """Make part r of `output`, on rank s, part s of the tensor of rank r.

    Both are tensors of P equally long parts.
    """
    # BLANK 5: the whole function. In step k everybody sends to the rank at distance k (about 8 lines)
    # From which rank does everybody receive in that step?
    rank, size = dist.get_rank(), dist.get_world_size()
    given, taken = chunks(tensor.view(-1), size), chunks(output.view(-1), size)
    taken[rank].copy_(given[rank])
    for step in range(1, size):
        to, source = (rank + step) % size, (rank - step) % size
        work = dist.isend(given[to], to)
        dist.recv(taken[source], source)
        work.wait()
    # END
