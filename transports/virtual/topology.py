"""The parts of a network: links with latency and bandwidth, and ports that carry one message at a time.

    sender ──[ tx port: α + βm ]──── wire: ω ────[ rx port: α + βm ]──► receiver

A message of m bytes holds its sender's transmit port and its receiver's receive port for α + βm
each; the two overlap, shifted by ω, so alone it takes α + βm + ω. With ω = 0 this is the full-duplex
single-port model of Hockney, in which the textbook's formulas are exact; with the latency on the
wire instead (α = o, ω = L) it is LogGP's (Alexandrov et al. 1995): several messages can then be on
their way at once. Only a message's payload counts; headers travel for nothing.

Between the two ports a message may pass links that others pass as well (`Station`s): of a torus, or
between switches. Each serves first come, first served, and is held for as long as its own α + βm. The
message's head goes on while its tail is still on its way (cut-through), and waits where a link is busy:

    sender ─[tx]─ ω₁ ─[link: α₁ + β₁m]─ ω₂ ─[link: α₂ + β₂m]─ … ─ ω ─[rx]─► receiver

A topology says for each pair of ranks which link, which two ports and which stations a message takes:

    uniform(link)                      one link everywhere, two ports per rank
    two_level(nodes, gpus, …)          ranks on nodes; fast links within, slow ones between
    matrix(rows)                       every pair as you say
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, NamedTuple, Protocol

from transports.quantities import byte_time, span


@dataclass(frozen=True)
class Link:
    """How long a message holds its ports, and how long it is on the wire between them."""

    latency: int
    per_byte: Fraction
    wire: int = 0
    _ratio: tuple[int, int] = field(init=False, repr=False, compare=False)  # of `per_byte`, which is slower to ask

    def __post_init__(self) -> None:
        object.__setattr__(self, "per_byte", Fraction(self.per_byte))  # from whole numbers, too
        object.__setattr__(self, "_ratio", self.per_byte.as_integer_ratio())
        if self.latency < 0 or self.per_byte < 0 or self.wire < 0:
            raise ValueError(f"a link takes no negative time: {self.latency}, {self.per_byte}, {self.wire}")

    def hold(self, nbytes: int) -> int:
        """Picoseconds for which a message holds each port: α + βm, rounded up."""
        over, under = self._ratio
        return self.latency - (-nbytes * over // under)

    def time(self, nbytes: int) -> int:
        """Picoseconds that a message takes when nothing is in its way."""
        return self.hold(nbytes) + self.wire


def link(latency: str | int, rate: str | int | Fraction, wire: str | int = 0) -> Link:
    """The properties of a link: `link("2us", "100Gb/s")`.

    Args:
        latency: The time that a port is held for each message; whole numbers are picoseconds.
        rate: Bytes or bits in a second; whole numbers are picoseconds per byte.
        wire: The time that a message is on its way besides.

    Returns:
        The Link.

    Example:
        >>> sim.link("2us", "1GB/s").latency
        2000000
    """
    return Link(span(latency), byte_time(rate), span(wire))


Port = Any  # any name of a port: messages that name the same one wait for each other


FREE = Link(0, Fraction(0))  # that takes no time: of ranks whose own ports are among the stations


class Station(NamedTuple):
    """A link on the way, which messages of several ranks may pass. `ahead`: picoseconds for the head of
    a message, from its start at the station before (or at the transmit port) until it is here.
    `is_port`: it is a port of some rank, and as slow as a fault makes the sender or the receiver."""

    port: Port
    link: Link
    ahead: int = 0
    is_port: bool = False


class Route(NamedTuple):
    link: Link
    tx: Port
    rx: Port
    via: tuple[Station, ...] = ()

    def links(self) -> list[tuple[Port, Link]]:
        """All that a message holds on its way, by names that are different for different links."""
        out, into = (("out of a rank", self.tx), self.link), (("into a rank", self.rx), self.link)
        between: list[tuple[Port, Link]] = [(station.port, station.link) for station in self.via]
        return between if between and self.link == FREE else [out, *between, into]

    def alone(self, nbytes: int) -> int:
        """Picoseconds that a message takes when no other one is on its way."""
        head, end = 0, self.link.hold(nbytes)
        for station in self.via:
            head += station.ahead
            end = max(head + station.link.hold(nbytes), end + station.ahead)
        return max(head + self.link.time(nbytes), end + self.link.wire)


class Topology(Protocol):
    """One that has nodes also says on which `node(rank)` is: then bytes between nodes are counted."""

    def route(self, src: int, dst: int) -> Route:
        """The way from one rank to another one; the same each time."""


def no_place(rank: int, topology: Any) -> ValueError:
    """The error about a rank of which a topology knows nothing."""
    return ValueError(f"rank {rank} has no place: {topology} holds {topology.places}")


@dataclass(frozen=True)
class Uniform:
    """Every pair is joined by the same link."""

    link: Link

    def route(self, src: int, dst: int) -> Route:
        return Route(self.link, src, dst)


NICS: Final = ("per_gpu", "beside", "per_node")


@dataclass(frozen=True)
class TwoLevel:
    """Rank r sits on node r // gpus. Messages between nodes go through network cards. With `nic="per_gpu"`
    these are the rank's only ports, so one message waits for the other. With "beside" each rank has one beside its
    ports in the node, and uses both at once. With "per_node" the ranks of a node share one."""

    nodes: int
    gpus: int
    intra: Link
    inter: Link
    nic: str = "per_gpu"

    def __post_init__(self) -> None:
        if self.nodes < 1 or self.gpus < 1:
            raise ValueError(f"there is at least one node with one rank, not {self.nodes} with {self.gpus}")
        if self.nic not in NICS:
            raise ValueError(f"nic is one of {', '.join(NICS)}, not {self.nic!r}")

    @property
    def places(self) -> int:
        return self.nodes * self.gpus

    def __str__(self) -> str:
        return f"a network of {self.nodes} nodes with {self.gpus} ranks each"

    def route(self, src: int, dst: int) -> Route:
        here, there = self.node(src), self.node(dst)
        if here == there:
            return Route(self.intra, src, dst)
        if self.nic == "per_gpu":
            return Route(self.inter, src, dst)
        if self.nic == "beside":
            return Route(self.inter, ("nic", src), ("nic", dst))
        return Route(self.inter, ("node", here), ("node", there))

    def node(self, rank: int) -> int:
        node = rank // self.gpus
        if node >= self.nodes:
            raise no_place(rank, self)
        return node


class Matrix:
    """`rows[src][dst]` is the link between two ranks."""

    def __init__(self, rows: Sequence[Sequence[Link]]) -> None:
        for src, row in enumerate(rows):
            if len(row) != len(rows):
                raise ValueError(f"row {src} has {len(row)} links, but there are {len(rows)} ranks")
        self.rows = [list(row) for row in rows]

    def route(self, src: int, dst: int) -> Route:
        return Route(self.rows[src][dst], src, dst)


def uniform(latency: str | int, rate: str | int | Fraction, wire: str | int = 0) -> Uniform:
    """A network of equal links, one in and one out of each rank.

    Args:
        latency: The time that a port is held for each message, such as "5us"; whole numbers are picoseconds.
        rate: Bytes or bits in a second, such as "100Gb/s"; whole numbers are picoseconds per byte.
        wire: The time that a message is on its way besides.

    Returns:
        The network, for `net=`.

    Example:
        >>> sim.run(dist.barrier, 2, net=sim.uniform("5us", "100Gb/s")).time
        5000000
    """
    return Uniform(link(latency, rate, wire))


def two_level(nodes: int, gpus: int, intra: Link, inter: Link, nic: str = "per_gpu") -> TwoLevel:
    """Nodes of several ranks, with fast links inside a node and slower ones between nodes.

    Args:
        nodes: How many nodes there are.
        gpus: How many ranks each has.
        intra: The link inside a node.
        inter: The link between nodes.
        nic: "per_gpu" gives each rank a network card, "per_node" one to a node, and "beside" one beside the ports in the node.

    Returns:
        The network, for `net=`.

    Example:
        >>> net = sim.two_level(2, 2, sim.link("1us", "100GB/s"), sim.link("5us", "100Gb/s"))
        >>> sim.run(dist.get_world_size, 4, net=net).results[0]
        4
    """
    return TwoLevel(nodes, gpus, intra, inter, nic)


def matrix(rows: Sequence[Sequence[Link]]) -> Matrix:
    """Every pair of ranks as you say.

    Args:
        rows: `rows[src][dst]` is the link from src to dst.

    Returns:
        The network, for `net=`.

    Example:
        >>> fast, slow = sim.link("1us", "1GB/s"), sim.link("9us", "1GB/s")
        >>> sim.run(dist.barrier, 2, net=sim.matrix([[fast, slow], [fast, fast]])).time
        9000000
    """
    return Matrix(rows)


DEFAULT = uniform("5us", "100Gb/s")
