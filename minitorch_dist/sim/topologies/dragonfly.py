"""A dragonfly: groups of routers; in a group each router is joined to each other one, and the groups are.

    dragonfly(3, 2, 1, 1, link)

        group 0   ┌─ router 0 ── router 1 ─┐        each router has ranks (here one), links to all routers
                  │     │           │      │        of its group, and a few links to other groups
                far   rank 0      rank 1   far
                  │                        │        the g-th group's link to group d is at router
        group 1 ──┘           group 2 ─────┘        k // far_links, where d is its k-th other group

A message takes the minimal way. Inside its group it goes to the router that has the link to the receiver's
group. It takes that link, and goes inside that group to the receiver's router. These are three links at most. Two
groups are joined by one link only, so traffic between two groups is slow, as the book says.

J. Kim, W. J. Dally, S. Scott, D. Abts, Technology-driven, highly-scalable dragonfly topology, ISCA 2008,
doi:10.1109/ISCA.2008.19.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from transports.virtual.topology import Link, Route, Station, no_place


@dataclass(frozen=True)
class Dragonfly:
    """Rank r hangs at router r // ranks, of which each group has `routers`."""

    groups: int
    routers: int  # of each group
    ranks: int  # of each router
    far_links: int  # of each router, to other groups
    link: Link  # of a rank
    local: Link  # between two routers of a group
    far: Link  # between two groups

    def __post_init__(self) -> None:
        if min(self.groups, self.routers, self.ranks) < 1 or self.far_links < 0:
            raise ValueError(
                "a dragonfly has at least one group, one router and one rank, not "
                f"{self.groups}, {self.routers}, {self.ranks}, and {self.far_links} far links"
            )
        if self.groups - 1 > self.routers * self.far_links:
            raise ValueError(
                f"each of {self.groups} groups needs {self.groups - 1} links to the others, but "
                f"{self.routers} routers with {self.far_links} far links have {self.routers * self.far_links}"
            )

    @property
    def places(self) -> int:
        return self.groups * self.routers * self.ranks

    def __str__(self) -> str:
        return f"a dragonfly of {self.groups} groups of {self.routers} routers with {self.ranks} ranks"

    def route(self, src: int, dst: int) -> Route:
        routers = self.way(src, dst)
        stations = []
        for (group, here), (other, there) in itertools.pairwise(routers):
            is_near = group == other
            link = self.local if is_near else self.far
            port = ("local", group, here, there) if is_near else ("far", group, other)
            stations.append(Station(port, link, link.latency + link.wire))
        return Route(self.link, src, dst, tuple(stations))

    def way(self, src: int, dst: int) -> list[tuple[int, int]]:
        """The routers that a message comes by: group, and number in it."""
        (group, here), (other, there) = self.place(src), self.place(dst)
        way = [(group, here)]
        if group != other:
            way += [(group, self.gateway(group, other)), (other, self.gateway(other, group))]
        way.append((other, there))
        return [router for at, router in enumerate(way) if not at or router != way[at - 1]]

    def gateway(self, group: int, other: int) -> int:
        """The router of a group that has the link to another group."""
        return (other if other < group else other - 1) // self.far_links

    def place(self, rank: int) -> tuple[int, int]:
        """Its group, and its router there."""
        if not 0 <= rank < self.places:
            raise no_place(rank, self)
        return divmod(rank // self.ranks, self.routers)


def dragonfly(
    groups: int,
    routers: int,
    ranks: int,
    far_links: int,
    link: Link,
    local: Link | None = None,
    far: Link | None = None,
) -> Dragonfly:
    """Groups of routers, any two of which are joined; messages take minimal ways.

    Args:
        groups: How many groups there are.
        routers: How many routers each group has.
        ranks: How many ranks each router has.
        far_links: How many links to other groups each router has.
        link: The link of a rank.
        local: The link between routers of a group, like a rank's by default.
        far: The link between groups, like a rank's by default.

    Returns:
        The network, for `net=`.

    Example:
        >>> sim.run(dist.get_rank, 12, net=sim.dragonfly(3, 2, 2, 1, sim.link("1us", "1GB/s"))).results[-1]
        11
    """
    return Dragonfly(groups, routers, ranks, far_links, link, local or link, far or link)
