"""The order of additions.

    (1e16 + 1) - 1e16 = 0         the 1 is too small to be seen beside 1e16
    (1e16 - 1e16) + 1 = 1

Every + rounds, so a sum depends on its order. P ranks have the same sum only if
all of them add in the same order, or if one of them adds and tells the others.
"""

from .ring import chunks

from .face import tensors as torch
from .face import distributed as dist


def exchange(parts):
    """Send `parts[r]` to rank r, for all r.

    Returns what came: by rank, one's own first, then as they came.
    """
    rank, size = dist.get_rank(), dist.get_world_size()
    works = [dist.isend(parts[other], other) for other in range(size) if other != rank]
    came = {rank: parts[rank].clone()}
    for _ in range(size - 1):
        received = torch.empty_like(parts[rank])
        came[dist.recv(received)] = received  # from anybody
    for work in works:
        work.wait()
    return came


def tell(parts):
    """Send `parts[rank]` to all, and take in theirs.

    The tag keeps it apart from an `exchange`: a fast
    rank tells while a slow one still takes from anybody.
    """
    rank, size = dist.get_rank(), dist.get_world_size()
    others = [other for other in range(size) if other != rank]
    works = [dist.isend(parts[rank], other, tag=1) for other in others]
    for other in others:
        dist.recv(parts[other], other, tag=1)
    for work in works:
        work.wait()


def added(came):
    """The sum of what came from all ranks, a tensor for each."""
    total = came[0]
    for rank in range(1, len(came)):
        total = total + came[rank]
    return total


def all_reduce(tensor):
    """Make `tensor` the sum of all ranks' tensors: the same bits on every rank, every time."""
    rank, size = dist.get_rank(), dist.get_world_size()
    parts = chunks(tensor.view(-1), size)
    parts[rank].copy_(added(exchange(parts)))
    tell(parts)
