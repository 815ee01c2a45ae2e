"""The GPUs that a plan is for: their device, their number, and the network between them.

    nvlink8+400G     nodes of 8 GPUs joined by NVLink; each GPU has a port of 400 Gb/s to the other nodes
                     beside that of NVLink, and uses both at once
    two_level:…      or any network that `mtd simulate --net` takes

The rate of NVLink is what NCCL reaches of it, each way: 342 of 450 GB/s on eight H100s (`kernel_tables.toml`). It is 235 of 300 GB/s on eight
A100s (stas00/ml-engineering, network/README.md). A B200 has the H100's share of 900 GB/s.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final

from minitorch_dist.sim import nets, runner, topologies
from minitorch_dist.sim.device import Device, gpu
from minitorch_dist.sim.report import Report
from mtd.planning.fold.folding import Fold
from transports.clock import PICO
from transports.virtual.network import Network
from transports.virtual.topology import Link, Topology, TwoLevel, link, two_level

NVLINK: Final = {"A100": "235GB/s", "H100": "342GB/s", "H200": "342GB/s", "B200": "684GB/s"}
NODES: Final = re.compile(r"nvlink(\d+)\+(\d+(?:\.\d+)?)G", re.IGNORECASE)
EXAMPLE: Final = "nvlink8+400G"
ROOM: Final = 1 << 50  # bytes
UNKNOWN: Final = 50e9  # bytes a second, where links are of many kinds
INSIDE, OUTSIDE = "2us", "5us"  # latencies: guesses, since no data sheet tells them


@dataclass(frozen=True)
class GpuCluster:
    """`gpus` equal devices on a network. `net` is how the network was named."""

    device: Device
    gpus: int
    net: str
    network: Network
    speeds: tuple[tuple[int, float], ...] = ()  # of stragglers

    @property
    def per_node(self) -> int:
        topology = self.network.topology
        return min(topology.gpus, self.gpus) if isinstance(topology, TwoLevel) else self.gpus

    def rate(self, inside: bool) -> float:
        """Bytes a second of a link within a node, or between nodes."""
        found = self._link(inside)
        return UNKNOWN if found is None else rate_of(found.per_byte)

    def message(self, inside: bool, nbytes: int) -> float:
        """Seconds that a message of so many bytes takes alone."""
        found = self._link(inside)
        return nbytes / UNKNOWN if found is None else found.time(nbytes) / PICO

    def _link(self, inside: bool) -> Link | None:
        topology = self.network.topology
        if isinstance(topology, TwoLevel):
            return topology.intra if inside else topology.inter
        found = getattr(topology, "link", None)
        return found if isinstance(found, Link) else None

    def simulated(
        self, fn: Callable[..., Any], ranks: int, args: tuple[Any, ...], fold: Fold, **options: Any
    ) -> Report[Any]:
        """A run in shapes on some of them. Memory is counted there, and compared afterwards."""
        device = replace(self.device, memory=ROOM)
        return runner.run(fn, ranks, args, net=self.network, device=device, shapes=True, fold=fold, **options)

    def key(self) -> list[Any]:
        """All that decides what a layout takes here."""
        device = self.device
        return [str(device), device.memory, self.gpus, self.net, str(self.network), self.speeds]


def cluster(
    device: str, gpus: int, net: str, slower: float = 1.0, speeds: dict[int, float] | None = None, **changes: Any
) -> GpuCluster:
    """`slower`: by which factor the links between nodes are slower than their name says."""
    if gpus < 1:
        raise ValueError(f"a cluster has at least one GPU, not {gpus}")
    if not 1 <= slower < math.inf:
        raise ValueError(f"a slower link is slower by a factor of 1 or more, not {slower:g}")
    for rank, speed in (speeds or {}).items():
        if not 0 <= rank < gpus or not 0 < speed < math.inf:
            raise ValueError(f"straggler {rank}:{speed:g}: ranks are 0 to {gpus - 1}, speeds above 0")
    found = gpu(device, **changes)
    network = _network(net, found, gpus, slower)
    topologies.check(network.topology, gpus)
    return GpuCluster(found, gpus, net, network, tuple(sorted((speeds or {}).items())))


def _network(net: str, device: Device, gpus: int, slower: float) -> Network:
    words = NODES.fullmatch(net)
    if words is None:
        if net.lower().startswith("nvlink") or difflib.get_close_matches(net, [EXAMPLE], 1, 0.7):
            raise ValueError(f"no network is called {net!r}; write it like {EXAMPLE}")
        return _slower(nets.read(net), slower)
    generation = next((word for word in device.name.split("-") if word in NVLINK), "")
    if not generation:
        raise ValueError(
            f"{device.name} has no NVLink that is known here ({', '.join(NVLINK)} have). Say "
            "two_level:nodes=…,gpus=…,intra=2us/448GB/s,inter=5us/400Gb/s"
        )
    size = int(words[1])
    if size < 1:
        raise ValueError(f"{net}: a node has at least one GPU, as in nvlink8+400G")
    topology = two_level(
        -(-gpus // size), size, link(INSIDE, NVLINK[generation]), link(OUTSIDE, f"{words[2]}Gb/s"), "beside"
    )
    return _slower(Network(topology), slower)


def _slower(network: Network, factor: float) -> Network:
    if factor == 1:
        return network
    topology: Topology = network.topology
    if not isinstance(topology, TwoLevel):
        raise ValueError("--slower-link needs a network of nodes, such as nvlink8+400G")
    outer = topology.inter
    times = Fraction(factor).limit_denominator(1000)
    slow = Link(outer.latency, outer.per_byte * times, outer.wire)
    return Network(two_level(topology.nodes, topology.gpus, topology.intra, slow, topology.nic))


def rate_of(per_byte: Fraction) -> float:
    """Bytes per second."""
    return float(10**12 / per_byte) if per_byte else float("inf")
