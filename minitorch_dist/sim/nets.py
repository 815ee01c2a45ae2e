"""Networks by name, and networks in files.

    Hockney("5us", "100Gb/s")              a message keeps both ports for α + βm: the textbook's formulas
    LogGP("1us", "0.5us", "0.6us", "25GB/s")   latency on the wire: several messages at once
    mesh((4, 8), link)                     each rank has neighbours; far messages pass several links

`read` takes what a command line says: an address, "two_level:nodes=8,gpus=8,intra=2us/150GB/s,inter=5us/100Gb/s",
or a file that `mtd calibrate` wrote.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from transports.quantities import byte_time, span
from transports.virtual import topology
from transports.virtual.medium import Network
from transports.virtual.topology import Link, Route, Topology, Uniform

FORMAT = "minitorch_dist network 1"


def Hockney(latency: str | int, rate: str | int | Fraction) -> Uniform:
    """Equal links with α = `latency`, of full-duplex single-port ranks."""
    return topology.uniform(latency, rate)


def LogGP(L: str | int, o: str | int, g: str | int, G: str | int | Fraction) -> Uniform:
    """The model of Alexandrov et al.: a message of m bytes alone takes L + 2o + Gm, and a rank sends
    one each max(g, o) + Gm. (They count m-1 bytes: the first is in o.)"""
    port = max(span(g), span(o))
    wire = span(L) + 2 * span(o) - port
    if wire < 0:
        raise ValueError(
            f"LogGP with a gap g={g} longer than L + 2o: a port would be busy for longer than a "
            "message takes"
        )
    return topology.uniform(port, G, wire)


@dataclass(frozen=True)
class Mesh:
    """Ranks in a grid, row by row. A message that passes h links has its latency h times."""

    shape: tuple[int, ...]
    link: Link
    wraps: bool = False  # a torus

    def route(self, src: int, dst: int) -> Route:
        link = self.link
        far = (self.hops(src, dst) - 1) * link.latency
        return Route(Link(link.latency, link.per_byte, link.wire + far), src, dst)

    def hops(self, src: int, dst: int) -> int:
        hops = 0
        for a, b, extent in zip(self._place(src), self._place(dst), self.shape, strict=True):
            steps = abs(a - b)
            hops += min(steps, extent - steps) if self.wraps else steps
        return hops

    def _place(self, rank: int) -> list[int]:
        place, rest = [], rank
        for extent in reversed(self.shape):
            rest, here = divmod(rest, extent)
            place.append(here)
        if rest:
            raise ValueError(f"rank {rank} has no place in a mesh of {self.shape}")
        return place[::-1]


def mesh(shape: Sequence[int], link: Link, wraps: bool = False) -> Mesh:
    return Mesh(tuple(shape), link, wraps)


# --------------------------------------------------------------------------------- in words and files


def read(text: str) -> Network:
    """A network as a command line names it."""
    if text.startswith("two_level:"):
        return Network(_two_level(text))
    if text.startswith("sim://") or text == "sim":
        return Network.parse(text)
    path = Path(text)
    if not path.is_file():
        what = (
            "there is no file"
            if path.suffix == ".json" or len(path.parts) > 1
            else "no network is called"
        )
        raise ValueError(
            f"{what} {text!r}: write sim://?latency=5us&rate=100Gb/s, or two_level:nodes=…,"
            "gpus=…,intra=2us/150GB/s,inter=5us/100Gb/s, or name a file of mtd calibrate"
        )
    return load(path)


def _two_level(text: str) -> Topology:
    words = dict(part.partition("=")[::2] for part in text.partition(":")[2].split(",") if part)
    missing = [f"{name}=" for name in ("nodes", "gpus", "intra", "inter") if name not in words]
    if missing:
        raise ValueError(
            f"{text!r}: {', '.join(missing)} is missing; write it like two_level:nodes=4,gpus=8,"
            "intra=2us/150GB/s,inter=5us/100Gb/s, with nic=per_node where ranks share a card"
        )
    try:
        inner, outer = (_link(words.pop(name)) for name in ("intra", "inter"))
        nodes, gpus = int(words.pop("nodes")), int(words.pop("gpus"))
        return topology.two_level(nodes, gpus, inner, outer, **words)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{text!r}: {error}") from None


def _link(text: str) -> Link:
    latency, _, rate = text.partition("/")
    return topology.link(latency, rate)


def save(path: str | Path, latency: int, per_byte: Fraction, about: dict[str, Any]) -> None:
    """Write down measured links, in picoseconds, for `load`."""
    words = {
        "format": FORMAT,
        "latency_ps": latency,
        "ps_per_byte": [per_byte.numerator, per_byte.denominator],
        **about,
    }
    Path(path).write_text(json.dumps(words, indent=1) + "\n", encoding="utf-8")


def load(path: str | Path) -> Network:
    """The network that `save` wrote; ValueError says what is wrong with the file."""
    try:
        words = json.loads(Path(path).read_text(encoding="utf-8"))
        if words["format"] != FORMAT:
            raise ValueError(f"its format is {words['format']!r}")
        above, below = words["ps_per_byte"]
        link = Link(int(words["latency_ps"]), Fraction(int(above), int(below)))
    except (ValueError, KeyError, TypeError, ZeroDivisionError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} holds no network ({error}); mtd calibrate writes one") from None
    return Network(Uniform(link))


def rate_of(per_byte: Fraction) -> float:
    """Bytes per second."""
    return float(10**12 / per_byte) if per_byte else float("inf")


__all__ = ["Hockney", "LogGP", "Mesh", "byte_time", "load", "mesh", "rate_of", "read", "save"]
