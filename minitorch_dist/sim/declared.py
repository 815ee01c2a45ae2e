"""A simulated network, as the bills of schedules see it: so `auto` chooses by what is true here."""

from __future__ import annotations

from minitorch_dist.distributed.schedules import links
from transports.topology import Link, Topology, TwoLevel, Uniform


def links_of(topology: Topology) -> links.Links | None:
    """What its messages cost; None for networks that bills cannot describe."""
    if isinstance(topology, Uniform):
        return links.Links(*_costs(topology.link))
    if isinstance(topology, TwoLevel):
        outer = links.Links(*_costs(topology.inter))
        return links.TwoLevel(*_costs(topology.intra), per_node=topology.gpus, outer=outer)
    return None


def _costs(link: Link) -> tuple[int, int, int, int]:
    """α, β, γ and wire. A fraction of a picosecond is rounded: enough to choose by."""
    return link.latency, max(round(link.per_byte), int(link.per_byte > 0)), 0, link.wire
