"""The order of additions.

    (1e16 + 1) - 1e16 = 0         the 1 is too small to be seen beside 1e16
    (1e16 - 1e16) + 1 = 1

Every + rounds, so a sum depends on its order. P ranks have the same sum only if
all of them add in the same order, or if one of them adds and tells the others.
"""

from ring import chunks

import minitorch_dist as torch
import minitorch_dist.distributed as dist

UNIT = 2.0**-53  # a float64 addition is wrong by at most so much of its result


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
    # BLANK 1: make it the same for every order of arrival, and on every rank (about 4 lines)
    total = came[0]
    for rank in range(1, len(came)):
        total = total + came[rank]
    return total
    # INSTEAD
    #| total = 0
    #| for part in came.values():
    #|     total = total + part
    #| return total
    # END


def all_reduce(tensor):
    """Make `tensor` the sum of all ranks' tensors: the same bits on every rank, every time."""
    rank, size = dist.get_rank(), dist.get_world_size()
    # BLANK 2: everybody adds everything here. One for each chunk is enough, and tells the others (about 3 lines)
    parts = chunks(tensor.view(-1), size)
    parts[rank].copy_(added(exchange(parts)))
    tell(parts)
    # INSTEAD
    #| tensor.copy_(added(exchange([tensor] * size)))
    # END


def bound(parts):
    """How far a sum of these tensors may be from the
    exact sum, element by element, in whatever order.
    """
    # BLANK 3: γ Σ|x|, where γ = nu / (1 - nu) for n additions, and u is UNIT (about 3 lines)
    additions = len(parts) - 1
    gamma = additions * UNIT / (1 - additions * UNIT)
    return gamma * sum(part.abs() for part in parts)
    # END
