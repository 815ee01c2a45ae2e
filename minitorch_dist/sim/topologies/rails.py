"""Nodes of GPUs, joined by rails: NVLink inside a node, and one network port for each GPU.

    rails(2, 4, nvlink, rail)
                              node 0               node 1
                         GPU 0  1  2  3       GPU 4  5  6  7        inside a node: NVLink and its switch
                             │  │  │  │           │  │  │  │
                    rail 0 ──┴──┼──┼──┼───────────┘  │  │  │        all first GPUs share the switch of
                    rail 1 ─────┴──┼──┼──────────────┘  │  │        rail 0, all second ones that of rail 1
                    rail 2 ────────┴──┼─────────────────┘  │
                    rail 3 ───────────┴────────────────────┘

A GPU has a port for NVLink and another one for the network, which carry messages at the same time. On a
rail two GPUs are one switch apart. From rail to rail a message goes

    without spine switches   over NVLink to the GPU of its own node on the receiver's rail, and by that
                             one's network port (NCCL calls it PXN, and does so if it can)
    with `spines`            by the sender's network port, up to a spine switch and down to the other rail

W. Wang, M. Ghobadi, K. Shakeri, Y. Zhang, N. Hasani, Rail-only: a low-cost high-performance network for
training LLMs with trillion parameters, 2023, arXiv:2307.12169.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from transports.virtual.topology import FREE, Link, Route, Station, no_place


@dataclass(frozen=True)
class Rails:
    """Rank r is GPU r % gpus of node r // gpus."""

    nodes: int
    gpus: int  # of each node
    nvlink: Link
    rail: Link
    spines: int = 0
    up: Link | None = None  # between a rail's switch and a spine; None: a link like `rail`

    def __post_init__(self) -> None:
        if min(self.nodes, self.gpus) < 1 or self.spines < 0:
            raise ValueError(
                f"rails join at least one node with at least one GPU, by 0 spines or more, not "
                f"{self.nodes} nodes, {self.gpus} GPUs, {self.spines} spines"
            )
        if self.up is not None and not self.spines:
            raise ValueError("rails without spine switches have no links up: say spines=…")

    @property
    def places(self) -> int:
        return self.nodes * self.gpus

    @property
    def fastest(self) -> Link:
        """Both ports of a GPU at once, without latency."""
        inside, outside = self.nvlink.per_byte, self.rail.per_byte
        both = inside + outside
        return Link(0, inside * outside / both if both else Fraction(0))

    def __str__(self) -> str:
        return f"{self.nodes} nodes of {self.gpus} GPUs on rails"

    def route(self, src: int, dst: int) -> Route:
        """All ports are stations of the way, since a message may pass a third GPU's."""
        (node, here), (other, there) = self.place(src), self.place(dst)
        if node == other:
            return self.way(src, dst, self.inside(src, dst))
        if here == there:
            return self.way(src, dst, self.outside(src, dst))
        if not self.spines:
            proxy = node * self.gpus + there
            inside = self.inside(src, proxy)
            return self.way(src, dst, (*inside, *self.outside(proxy, dst, self.nvlink.latency)))
        out, into = self.outside(src, dst)
        up = self.up or self.rail
        spine, step = other % self.spines, up.latency + up.wire
        above = Station(("up", here, spine), up, step), Station(("down", spine, there), up, step)
        return self.way(src, dst, (out, *above, into))

    def inside(self, src: int, dst: int) -> tuple[Station, Station]:
        """The two NVLink ports between GPUs of a node."""
        return (
            Station(("NVLink out", src), self.nvlink, 0, True),
            Station(("NVLink in", dst), self.nvlink, self.nvlink.wire, True),
        )

    def outside(self, src: int, dst: int, ahead: int = 0) -> tuple[Station, Station]:
        """Their two network ports. `ahead`: how long the head takes to the first one."""
        return (
            Station(("rail out", src), self.rail, ahead, True),
            Station(("rail in", dst), self.rail, self.rail.wire, True),
        )

    def way(self, src: int, dst: int, stations: tuple[Station, ...]) -> Route:
        return Route(FREE, src, dst, stations)

    def place(self, rank: int) -> tuple[int, int]:
        """Its node, and its number there, which is its rail."""
        node, gpu = divmod(rank, self.gpus)
        if node >= self.nodes:
            raise no_place(rank, self)
        return node, gpu

    def node(self, rank: int) -> int:
        return self.place(rank)[0]


def rails(nodes: int, gpus: int, nvlink: Link, rail: Link, spines: int = 0, up: Link | None = None) -> Rails:
    """NVLink inside a node, and one network port for each GPU; equal GPUs of all nodes share a rail.

    Args:
        nodes: How many nodes there are.
        gpus: How many ranks each has.
        nvlink: The link inside a node.
        rail: The link to the rail's switch.
        spines: How many spine switches join the rails; without them a message goes over NVLink first.
        up: The link between rail and spine.

    Returns:
        The network, for `net=`.

    Example:
        >>> net = sim.rails(2, 2, sim.link("1us", "400GB/s"), sim.link("5us", "400Gb/s"))
        >>> sim.run(dist.get_rank, 4, net=net).results[-1]
        3
    """
    return Rails(nodes, gpus, nvlink, rail, spines, up)
