"""All-reduce in about log2 P rounds, for any number of ranks.

Recursive doubling: everybody swaps all it has with the partner at distance 1, then 2, then 4, …

    number    0       1       2       3
              0 ◄───► 1       2 ◄───► 3         then each has the sum of two,
              0 ◄───────────► 2
                      1 ◄───────────► 3         then of four

Partners differ in one bit of their numbers, so there must be 2, 4,
8, … of them. With more, some fold in: the even rank of a pair gives
what it has to the odd one, waits, and gets the result afterwards.

    6 = 4 + 2    rank      0 ─► 1    2 ─► 3    4    5
                 number         0         1    2    3
"""

from .ring import COMBINE

from .face import tensors as torch
from .face import distributed as dist


def power_below(size):
    """The largest power of two that is not above `size`."""
    return 1 << (size.bit_length() - 1)


def distances(size):
    """1, 2, 4, … : in each round partners are so far apart."""
    return [1 << bit for bit in range(size.bit_length() - 1)]


def number_of(rank, size):
    """The number under which `rank` swaps; None for one that has folded in, and waits."""
    rest = size - power_below(size)
    if rank >= 2 * rest:
        return rank - rest
    return rank // 2 if rank % 2 else None


def rank_of(number, size):
    """The rank that swaps under this number."""
    rest = size - power_below(size)
    return 2 * number + 1 if number < rest else number + rest


def fold_in(tensor, combine):
    """Those without a number hand over what they have."""
    rank, size = dist.get_rank(), dist.get_world_size()
    rest = size - power_below(size)
    if rank < 2 * rest and rank % 2 == 0:
        dist.send(tensor, rank + 1)
    elif rank < 2 * rest:
        received = torch.empty_like(tensor)
        dist.recv(received, rank - 1)
        tensor.copy_(combine(received, tensor))


def fold_out(tensor):
    """Those without a number get the result."""
    rank, size = dist.get_rank(), dist.get_world_size()
    rest = size - power_below(size)
    if rank < 2 * rest and rank % 2 == 0:
        dist.recv(tensor, rank + 1)
    elif rank < 2 * rest:
        dist.send(tensor, rank - 1)


def swap(given, taken, partner):
    """Send one tensor and receive another at the same time."""
    work = dist.isend(given, partner)
    dist.recv(taken, partner)
    work.wait()


def all_reduce(tensor, op=dist.ReduceOp.SUM):
    """Recursive doubling: the fewest rounds, and everything is sent in each."""
    rank, size = dist.get_rank(), dist.get_world_size()
    combine, number = COMBINE[op], number_of(rank, size)
    fold_in(tensor, combine)
    if number is not None:
        for distance in distances(size):
            received = torch.empty_like(tensor)
            swap(tensor, received, rank_of(number ^ distance, size))
            tensor.copy_(combine(tensor, received))
    fold_out(tensor)


def rabenseifner(tensor, op=dist.ReduceOp.SUM):
    """Recursive halving, then doubling: twice the rounds, and hardly more bytes than a ring.

    First partners share the work: each keeps half of what they both
    have, and gives the other half away. Number k ends with chunk k
    of the sum. Then the halves come together again, the last first.
    """
    rank, size = dist.get_rank(), dist.get_world_size()
    combine, number, power = COMBINE[op], number_of(rank, size), power_below(size)
    vector = tensor.view(-1)
    ends = [vector.numel() * chunk // power for chunk in range(power + 1)]
    fold_in(tensor, combine)
    if number is not None:
        for distance in reversed(distances(size)):
            mine, theirs = halves(vector, ends, number, distance)
            received = torch.empty_like(mine)
            swap(theirs, received, rank_of(number ^ distance, size))
            mine.copy_(combine(mine, received))
        for distance in distances(size):
            mine, theirs = halves(vector, ends, number, distance)
            swap(mine, theirs, rank_of(number ^ distance, size))
    fold_out(tensor)


def halves(vector, ends, number, distance):
    """The chunks that `number` keeps and those that its
    partner at `distance` keeps, `distance` of each.
    """
    mine = number & -distance
    return [vector[ends[first] : ends[first + distance]] for first in (mine, mine ^ distance)]
