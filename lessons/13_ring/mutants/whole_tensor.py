"""The whole tensor goes round, not a chunk.

It was a course's reference solution: every sum is right after the first half, and the second half does nothing. Each rank sends 2 (P-1) n
where 2 (P-1)/P n would do. No test of sums finds that, and the cell that should have run one lacked an argument.

Caught by: bytes
Passes: correct, exactly once, never stuck
Seen: https://github.com/callummcdougall/ARENA_3.0/pull/407
"""

import minitorch_dist as torch
import minitorch_dist.distributed as dist


def all_reduce(tensor):
    rank, size = dist.get_rank(), dist.get_world_size()
    travelling = tensor.clone()
    for step in range(2 * (size - 1)):
        received = torch.empty_like(tensor)
        work = dist.isend(travelling, (rank + 1) % size)
        dist.recv(received, (rank - 1) % size)
        work.wait()
        if step < size - 1:
            tensor += received
        travelling = received
