"""A simulated network, as the bills of schedules see it.

`links_of` is what `auto` chooses by, so it chooses by what is true here. `wires_of` is exact, to the
picosecond and for any pair: by it all ranks' clocks are moved at once (see `lockstep`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minitorch_dist.distributed.schedules import links
from minitorch_dist.sim.topologies import Rails
from transports.virtual.topology import Link, Matrix, Topology, TwoLevel, Uniform


def links_of(topology: Topology, adding: int = 0) -> links.Links | None:
    """The cost of its messages; None for networks that bills cannot describe. `adding`: ps per byte."""
    if isinstance(topology, Uniform):
        return links.Links(*_costs(topology.link, adding))
    if isinstance(topology, TwoLevel):
        near, far = topology.intra, topology.inter
    elif isinstance(topology, Rails):
        near, far = topology.nvlink, topology.rail
    else:
        return None
    outer = links.Links(*_costs(far, adding))
    return links.TwoLevelLinks(*_costs(near, adding), per_node=topology.gpus, outer=outer)


def _costs(link: Link, adding: int) -> tuple[int, int, int, int]:
    """α, β, γ and wire. A fraction of a picosecond is rounded: enough to choose by."""
    beta = max(round(link.per_byte), int(link.per_byte > 0))
    return link.latency, beta, adding, link.wire


@dataclass(frozen=True)
class DeclaredLinks(links.Links):
    """Between some ranks of a simulated world. `numerator` / `denominator` are exact ps per byte; all
    fields are numbers where the pairs are alike, else tables over (sender, receiver)."""

    numerator: Any = 0
    denominator: Any = 1
    table: Any = None  # which entry a pair has; None: all pairs are alike

    def occupancy(self, source: Any, to: Any, nbytes: Any) -> Any:
        if self.table is None:
            return self.alpha - (-nbytes * self.numerator // self.denominator)
        kind = self.table[source, to]
        alpha: Any = self.alpha
        return alpha[kind] - (-nbytes * self.numerator[kind] // self.denominator[kind])

    def delay(self, source: Any, to: Any) -> Any:
        wire: Any = self.wire
        return wire if self.table is None else wire[self.table[source, to]]

    @property
    def alike(self) -> bool:
        return self.table is None


class Halves:
    """The table of a two-level network: 0 on a node, 1 between nodes. It takes no room."""

    def __init__(self, node: NDArray[np.int64]) -> None:
        self.node = node

    def __getitem__(self, pair: tuple[Any, Any]) -> Any:
        source, to = pair
        return (self.node[source] != self.node[to]).astype(np.int64)


def wires_of(topology: Topology, ranks: Sequence[int], adding: int = 0) -> DeclaredLinks | None:
    """The exact costs between these ranks; None where a port, or a link on the way, is not one rank's
    own."""
    if isinstance(topology, Uniform):
        return _wires([topology.link], None, adding)
    if isinstance(topology, TwoLevel) and topology.nic != "per_node":
        node = np.array([topology.node(rank) for rank in ranks], np.int64)
        if (node == node[0]).all():
            return _wires([topology.intra], None, adding)
        if topology.nic == "beside":
            return None
        return _wires([topology.intra, topology.inter], Halves(node), adding)
    if isinstance(topology, Matrix):
        kinds: dict[Link, int] = {}
        rows = [[kinds.setdefault(topology.rows[a][b], len(kinds)) for b in ranks] for a in ranks]
        return _wires(list(kinds), np.array(rows, np.int64), adding)
    return None


def _wires(found: list[Link], table: Any, adding: int) -> DeclaredLinks:
    columns = zip(*((link.latency, link.wire, *link.per_byte.as_integer_ratio()) for link in found), strict=True)
    alpha, wire, numerator, denominator = (
        column[0] if table is None else np.array(column, np.int64) for column in columns
    )
    cast: Any = (alpha, 0, adding, wire, numerator, denominator, table)
    return DeclaredLinks(*cast)
