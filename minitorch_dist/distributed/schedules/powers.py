"""Powers of two, and how to have one where there is none.

Halving and doubling pair the ranks by one bit of their number, which needs a power of two. With `size = power +
rest` ranks the first `2 * rest` of them make pairs. The even one hands everything to its odd neighbour before,
and gets the result from it afterwards. In between, `power` ranks act
under numbers of their own:

    size 6 = 4 + 2      rank    0 ─► 1    2 ─► 3    4    5
                        acts as      0         1    2    3

The folding is that of MPICH (Thakur, Rabenseifner, Gropp 2005, doi:10.1177/1094342005051521).
"""

from __future__ import annotations

import numpy as np

from minitorch_dist.distributed.schedules.steps import Chunks, Mask, Rank, Receive, Send, Span, Steps


def rounds(size: int) -> int:
    """⌈log2 size⌉: in so many rounds one rank can reach them all."""
    return (size - 1).bit_length()


def distances(size: int) -> list[int]:
    """1, 2, 4, … below `size`."""
    return [1 << bit for bit in range(rounds(size))]


def is_power(size: int) -> bool:
    return size & (size - 1) == 0


class PowerOfTwoFold:
    """The ranks that act when `size` ranks are folded to a power of two, and their numbers."""

    def __init__(self, rank: Rank, size: int) -> None:
        self.rank, self.size = rank, size
        self.power = 1 << (size.bit_length() - 1)
        self.rest = size - self.power
        in_pair = rank < 2 * self.rest
        self.folds: Mask = in_pair & (rank % 2 == 0)  # hands over to its neighbour and sits out
        self.serves: Mask = in_pair & (rank % 2 == 1)  # acts for two
        self.acts: Mask = (self.folds == 0) if self.rest else True
        self.number: Rank = rank - np.minimum((rank + 1) // 2, self.rest) if self.rest else rank

    def rank_of(self, number: Rank) -> Rank:
        """The rank that acts under a number."""
        return number + np.minimum(number + 1, self.rest) if self.rest else number

    def span(self, number: Rank, count: int) -> Span:
        """The chunks, one per rank, of all ranks that `count` numbers from `number` on stand for."""
        if not self.rest:
            return Span(number, count)
        first, last = [n + np.minimum(n, self.rest) for n in (number, number + count)]
        return Span(first, last - first)

    def fold(self, chunks: Chunks, reduce: bool) -> Steps:
        """The even ones hand over these chunks."""
        if self.rest:
            yield Send(to=self.rank + 1, chunks=chunks, only=self.folds)
            yield Receive(source=self.rank - 1, chunks=chunks, reduce=reduce, only=self.serves)

    def fold_each(self) -> Steps:
        """The even ones hand over their own chunk."""
        if self.rest:
            yield Send(to=self.rank + 1, chunks=self.rank, only=self.folds)
            yield Receive(source=self.rank - 1, chunks=self.rank - 1, only=self.serves)

    def unfold(self, given: Chunks, taken: Chunks) -> Steps:
        """The odd ones give these chunks back, the even ones take them."""
        if self.rest:
            yield Send(to=self.rank - 1, chunks=given, only=self.serves)
            yield Receive(source=self.rank + 1, chunks=taken, only=self.folds)
