"""Everything goes to rank 0 and back: lazy, and right.

Caught by: bytes
Passes: correct, exactly once, never stuck
"""

import minitorch_dist as torch
import minitorch_dist.distributed as dist


def all_reduce(tensor):
    rank, size = dist.get_rank(), dist.get_world_size()
    if rank:
        dist.send(tensor, 0)
        dist.recv(tensor, 0)
        return
    received = torch.empty_like(tensor)
    for other in range(1, size):
        dist.recv(received, other)
        tensor += received
    for other in range(1, size):
        dist.send(tensor, other)
