"""A fat tree of two levels, which is a folded Clos network.

    fat_tree(3, 2, 2, link)          spine 0      spine 1
                                    ╱   │   ╲   ╱   │   ╲        each leaf is joined to each spine
                                leaf 0    leaf 1    leaf 2
                                0   1     2   3     4   5

A message goes up to a spine switch and down again. The way down is the only one; the spine is chosen by
the receiver's number, as the tables of InfiniBand switches do. With fewer, or slower, links up than ranks
below it is *oversubscribed*: `fat_tree(3, 4, 2, link)` has twice as much below as above.

C. E. Leiserson, Fat-trees: universal networks for hardware-efficient supercomputing, IEEE Transactions on
Computers C-34(10), 1985, doi:10.1109/TC.1985.6312192.
"""

from __future__ import annotations

from dataclasses import dataclass

from transports.virtual.topology import Link, Route, Station, no_place


@dataclass(frozen=True)
class FatTree:
    """Rank r hangs at leaf switch r // ranks, and each leaf has a link up to each spine switch and one
    down. Between leaves a message to rank d goes by spine d % spines, always (so do InfiniBand's
    tables). Fewer or slower `up` links than ranks: oversubscribed."""

    leaves: int
    ranks: int  # of each leaf
    spines: int
    link: Link  # of a rank
    up: Link  # between a leaf and a spine

    def __post_init__(self) -> None:
        if min(self.leaves, self.ranks, self.spines) < 1:
            raise ValueError(
                f"a fat tree has at least one leaf, rank and spine, not {self.leaves}, {self.ranks}, {self.spines}"
            )

    @property
    def places(self) -> int:
        return self.leaves * self.ranks

    def __str__(self) -> str:
        return f"a fat tree of {self.leaves} leaves with {self.ranks} ranks, and {self.spines} spines"

    def route(self, src: int, dst: int) -> Route:
        here, there = self.leaf(src), self.leaf(dst)
        if here == there:
            return Route(self.link, src, dst)
        spine, step = dst % self.spines, self.up.latency + self.up.wire
        stations = (Station(("up", here, spine), self.up, step), Station(("down", spine, there), self.up, step))
        return Route(self.link, src, dst, stations)

    def leaf(self, rank: int) -> int:
        leaf = rank // self.ranks
        if leaf >= self.leaves:
            raise no_place(rank, self)
        return leaf


def fat_tree(leaves: int, ranks: int, spines: int, link: Link, up: Link | None = None) -> FatTree:
    """Leaf switches, joined by spine switches.

    Args:
        leaves: How many leaf switches there are.
        ranks: How many ranks each has.
        spines: How many spine switches there are; few are oversubscribed.
        link: The link of a rank.
        up: The link between leaf and spine, like a rank's by default.

    Returns:
        The network, for `net=`.

    Example:
        >>> sim.run(dist.get_rank, 4, net=sim.fat_tree(2, 2, 1, sim.link("1us", "1GB/s"))).results[-1]
        3
    """
    return FatTree(leaves, ranks, spines, link, link if up is None else up)
