"""The received numbers are never added.

Until 2020 this was the ring of PyTorch's own tutorial. Two buffers take turns, but the ring adds its two arguments, once the one and once
the other. So it gives multiples of each rank's own numbers. A test with the same tensor on all ranks may not notice.

Caught by: correct, exactly once, bytes
Seen: https://github.com/pytorch/pytorch/issues/31572
Seen: https://github.com/pytorch/tutorials/pull/1039
"""

import minitorch_dist as torch
import minitorch_dist.distributed as dist


def all_reduce(tensor):
    result = torch.zeros_like(tensor)
    ring(tensor, result)
    tensor.copy_(result)


def ring(given, result):
    rank, size = dist.get_rank(), dist.get_world_size()
    first, second = torch.zeros_like(given), torch.zeros_like(given)
    total = given.clone()
    for step in range(size - 1):
        going, coming = (first, second) if step % 2 == 0 else (second, first)
        work = dist.isend(going, (rank + 1) % size)
        dist.recv(coming, (rank - 1) % size)
        total += result if step % 2 == 0 else given
        work.wait()
    result.copy_(total)
