"""One to all and all to one, along a tree.

             0    1    2    3    4         five ranks, and rank 3 is to hear of all
    round 1  0 ◄─ 1    2 ─► 3    4         in each pair one speaks for both,
    round 2  0 ───────────► 3    4         then one for each four,
    round 3                 3 ◄─ 4         then one for all

The root speaks for each block that it is in. The first rank speaks for every
other block. A message from one to all takes the same paths back, the last first.
"""

from collections.abc import Callable
from typing import NamedTuple

import minitorch_dist as torch
import minitorch_dist.distributed as dist


def speaker(rank, length, root):
    """The rank that speaks for the block of `length` ranks
    with `rank` in it: 0…length-1, length…2·length-1, or …
    """
    # BLANK 1: the root if it is in that block, else the block's first rank (about 2 lines)
    first = rank // length * length
    return root if first <= root < first + length else first
    # END


def halves(size):
    """1, 2, 4, … : in each round, blocks of so many ranks
    join in pairs, until one block holds all `size`.
    """
    return [1 << bit for bit in range((size - 1).bit_length())]


def parent(rank, size, root):
    """The rank to which `rank` reports; None for the root."""
    # BLANK 2: the first block whose speaker is somebody else (about 5 lines)
    for half in halves(size):
        above = speaker(rank, 2 * half, root)
        if above != rank:
            return above
    return None
    # END


def children(rank, size, root):
    """The ranks that report to `rank`, in the order of the rounds."""
    # BLANK 3: while `rank` speaks for the whole block, the other half of it reports here (about 8 lines)
    # `rank // half` is the number of the half with `rank` in it, and `^ 1` makes that of
    # the other half, which begins at (rank // half ^ 1) * half. There may be nobody in it.
    found = []
    for half in halves(size):
        if speaker(rank, 2 * half, root) != rank:
            break
        other = (rank // half ^ 1) * half
        if other < size:
            found.append(speaker(other, half, root))
    return found
    # END


class Shape(NamedTuple):
    """Any tree: the ranks above and below `rank`, among `size` ranks, under `root`."""

    parent: Callable
    children: Callable

    @classmethod
    def of(cls, parent):
        """The tree in which each rank reports to its
        `parent`; of its children, the nearest comes first.
        """

        def children(rank, size, root):
            below = [other for other in range(size) if parent(other, size, root) == rank]
            return sorted(below, key=lambda other: abs(other - rank))

        return cls(parent, children)


def star(rank, size, root):
    return None if rank == root else root


def chain(rank, size, root):
    return None if rank == root else rank + (1 if rank < root else -1)


TREE, STAR, CHAIN = Shape(parent, children), Shape.of(star), Shape.of(chain)


def broadcast(tensor, src, shape=TREE):
    """Make `tensor`, on every rank, that of rank `src`."""
    rank, size = dist.get_rank(), dist.get_world_size()
    above = shape.parent(rank, size, src)
    if above is not None:
        dist.recv(tensor, above)
    for below in reversed(shape.children(rank, size, src)):
        dist.send(tensor, below)


def reduce(tensor, dst, combine=torch.add, shape=TREE):
    """Combine all ranks' tensors, in the order of the ranks, into that of rank `dst`."""
    rank, size = dist.get_rank(), dist.get_world_size()
    for below in shape.children(rank, size, dst):
        theirs = torch.empty_like(tensor)
        dist.recv(theirs, below)
        tensor.copy_(combine(theirs, tensor) if below < rank else combine(tensor, theirs))
    above = shape.parent(rank, size, dst)
    if above is not None:
        dist.send(tensor, above)


def block(rank, size, root):
    """The ranks for which `rank` speaks: the first of them, and the first behind them."""
    blocks = [block(below, size, root) for below in children(rank, size, root)]
    firsts, ends = zip((rank, rank + 1), *blocks)
    return min(firsts), max(ends)


def scatter(output, rows, src):
    """Make `output`, on rank r, row r of the `rows`
    that rank `src` has; nobody else's are looked at.
    """
    rank, size = dist.get_rank(), dist.get_world_size()
    first, end = block(rank, size, src)
    above = parent(rank, size, src)
    if above is not None:
        rows = torch.empty((end - first, *output.shape), dtype=output.dtype)
        dist.recv(rows, above)
    for below in reversed(children(rank, size, src)):
        begin, stop = block(below, size, src)
        dist.send(rows[begin - first : stop - first], below)
    output.copy_(rows[rank - first])


def gather(rows, tensor, dst):
    """Make row r of the `rows` that rank `dst` has
    the tensor of rank r; nobody else's are touched.
    """
    rank, size = dist.get_rank(), dist.get_world_size()
    first, end = block(rank, size, dst)
    above = parent(rank, size, dst)
    if above is not None:
        rows = torch.empty((end - first, *tensor.shape), dtype=tensor.dtype)
    rows[rank - first].copy_(tensor)
    for below in children(rank, size, dst):
        begin, stop = block(below, size, dst)
        dist.recv(rows[begin - first : stop - first], below)
    if above is not None:
        dist.send(rows, above)
