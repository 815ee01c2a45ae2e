"""The whole tensor goes round, not a chunk.

Every sum is right. Each rank sends (P-1) n where 2 (P-1)/P n would do.

Caught by: bytes
Passes: right, exactly once
Seen: https://github.com/callummcdougall/ARENA_3.0/pull/407
"""

import minitorch_dist as torch
import minitorch_dist.distributed as dist


def all_reduce(tensor):
    rank, size = dist.get_rank(), dist.get_world_size()
    travelling = tensor.clone()
    for _ in range(size - 1):
        received = torch.empty_like(tensor)
        work = dist.isend(travelling, (rank + 1) % size)
        dist.recv(received, (rank - 1) % size)
        work.wait()
        tensor += received
        travelling = received
