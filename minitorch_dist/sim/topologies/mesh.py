"""A grid of ranks, and a torus: neighbours are joined by a link in each direction.

    mesh((3, 4), link)      0 ─  1 ─  2 ─  3          a torus joins the ends of each line as well:
                            │    │    │    │          0 and 3, 0 and 8
                            4 ─  5 ─  6 ─  7
                            │    │    │    │          from 0 to 11 over the mesh: 0 1 2 3 7 11
                            8 ─  9 ─ 10 ─ 11                    over the torus: 0 3 11

A message is routed in the order of the dimensions: along the last axis first, then along the one before,
and so on. So no circle of messages can wait for each other in a mesh.

W. J. Dally, C. L. Seitz, Deadlock-free message routing in multiprocessor interconnection networks, IEEE
Transactions on Computers C-36(5), 1987, doi:10.1109/TC.1987.1676939.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from transports.virtual.topology import Link, Route, Station, no_place


@dataclass(frozen=True)
class MeshNetwork:
    """Ranks in a grid, row by row, each joined to its neighbours by a link in each direction.

    A message goes along the last axis first, then along the one before, and so on; on a torus the
    shorter way round (where both are as long, upwards). It has the latency of each link that it
    passes, holds each of them for α + βm, and waits where another one is ahead of it.
    """

    shape: tuple[int, ...]
    link: Link
    wraps: bool = False  # a torus
    is_whole: bool = False  # whether a world has to fill it

    def __post_init__(self) -> None:
        if not self.shape or min(self.shape) < 1:
            raise ValueError(f"the sides of a mesh are whole numbers from 1 on, not {self.shape}")

    @property
    def places(self) -> int:
        return math.prod(self.shape)

    def __str__(self) -> str:
        sides = " × ".join(map(str, self.shape))
        return f"a {'torus' if self.wraps else 'mesh'} of {sides}"

    def route(self, src: int, dst: int) -> Route:
        step = self.link.latency + self.link.wire
        nodes = self.way(src, dst)
        stations = tuple(Station(pair, self.link, step if number else 0) for number, pair in enumerate(pairwise(nodes)))
        return Route(self.link, src, dst, stations)

    def way(self, src: int, dst: int) -> list[int]:
        """The ranks that a message comes by, with both ends."""
        here, goal = self._place(src), self._place(dst)
        nodes = [src]
        for axis in reversed(range(len(self.shape))):
            extent = self.shape[axis]
            while here[axis] != goal[axis]:
                up = goal[axis] > here[axis]
                if self.wraps:
                    up = 2 * ((goal[axis] - here[axis]) % extent) <= extent
                here[axis] = (here[axis] + (1 if up else -1)) % extent
                nodes.append(self._rank(here))
        return nodes

    def _place(self, rank: int) -> list[int]:
        place, rest = [], rank
        for extent in reversed(self.shape):
            rest, here = divmod(rest, extent)
            place.append(here)
        if rest:
            raise no_place(rank, self)
        return place[::-1]

    def _rank(self, place: Sequence[int]) -> int:
        rank = 0
        for here, extent in zip(place, self.shape, strict=True):
            rank = rank * extent + here
        return rank


def mesh(shape: Sequence[int], link: Link, wraps: bool = False) -> MeshNetwork:
    """A grid of ranks, in which far messages pass several links and hold each.

    Args:
        shape: The length of each side.
        link: The link between neighbours.
        wraps: Join the ends of each side, which makes it a torus.

    Returns:
        The network, for `net=`.

    Example:
        >>> sim.run(dist.get_rank, 6, net=sim.mesh((2, 3), sim.link("1us", "1GB/s"))).results[-1]
        5
    """
    return MeshNetwork(tuple(shape), link, wraps)


def torus(shape: Sequence[int], link: Link) -> MeshNetwork:
    """A torus that the world fills: its sides multiply to the number of ranks.

    Args:
        shape: The length of each side.
        link: The link between neighbours.

    Returns:
        The network, for `net=`.

    Example:
        >>> sim.run(dist.get_rank, 8, net=sim.torus((2, 2, 2), sim.link("1us", "1GB/s"))).results[-1]
        7
    """
    return MeshNetwork(tuple(shape), link, wraps=True, is_whole=True)
