"""Networks by name, and networks in files.

    Hockney("5us", "100Gb/s")              a message keeps both ports for α + βm: the textbook's formulas
    LogGP("1us", "0.5us", "0.6us", "25GB/s")   latency on the wire: several messages at once

Networks of many links are in `topologies`. `read` takes what a command line says: an address, a name and
its words, such as "two_level:nodes=8,gpus=8,intra=2us/150GB/s,inter=5us/100Gb/s", or a file that `mtd
calibrate` wrote.
"""

from __future__ import annotations

import difflib
import inspect
import json
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from minitorch_dist.sim.topologies import dragonfly, fat_tree, mesh, rails, torus
from transports.plain_text import clean
from transports.quantities import span
from transports.virtual import topology
from transports.virtual.network import Network
from transports.virtual.topology import Link, Topology, Uniform

FORMAT = "minitorch_dist network 1"


def Hockney(latency: str | int, rate: str | int | Fraction) -> Uniform:
    """Equal links with α = `latency`, of full-duplex single-port ranks: m bytes take α + βm.

    Args:
        latency: α, such as "5us".
        rate: 1/β, such as "100Gb/s".

    Returns:
        The network, for `net=`.

    Example:
        >>> sim.run(dist.barrier, 2, net=sim.Hockney("2us", "1GB/s")).time
        2000000
    """
    return topology.uniform(latency, rate)


def LogGP(L: str | int, o: str | int, g: str | int, G: str | int | Fraction) -> Uniform:
    """The model of Alexandrov et al.: a message of m bytes alone takes L + 2o + Gm, and a rank sends
    one each max(g, o) + Gm. (They count m-1 bytes: the first is in o.)

    Args:
        L: The latency of the wire.
        o: The overhead of a send, and of a receive.
        g: The gap between two messages.
        G: Bytes in a second (1/G).

    Returns:
        The network, for `net=`.

    Example:
        >>> sim.run(dist.barrier, 2, net=sim.LogGP("1us", "1us", "2us", "1GB/s")).time
        3000000
    """
    port = max(span(g), span(o))
    wire = span(L) + 2 * span(o) - port
    if wire < 0:
        raise ValueError(
            f"LogGP with a gap g={g} longer than L + 2o: a port would be busy for longer than a message takes"
        )
    return topology.uniform(port, G, wire)


# --------------------------------------------------------------------------------- in words and files


def read(text: str) -> Network:
    """A network as a command line names it."""
    kind = text.partition(":")[0]
    if kind in NAMED and text.startswith(f"{kind}:"):
        return _named(kind, text)
    if text.startswith("sim://") or text == "sim":
        return Network.parse(text)
    path = Path(text)
    if not _is_file(path):
        what = "there is no file" if path.suffix == ".json" or len(path.parts) > 1 else "no network is called"
        near = difflib.get_close_matches(kind.lower(), [*NAMED, "sim"], 1)
        said = f" (perhaps {near[0]}?)" if near else ""
        raise ValueError(
            f"{what} {text!r}{said}: write sim://?latency=5us&rate=100Gb/s, or two_level:nodes=…,"
            "gpus=…,intra=2us/150GB/s,inter=5us/100Gb/s, or name a file of mtd calibrate"
        )
    return load(path)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that is too long for the file system
        return False


NAMED: dict[str, tuple[Callable[..., Topology], str]] = {
    "two_level": (
        topology.two_level,
        "nodes=4,gpus=8,intra=2us/150GB/s,inter=5us/100Gb/s, with nic=per_node where ranks share a card, or "
        "nic=beside where each has one beside its ports in the node",
    ),
    "mesh": (mesh, "shape=4x8,link=1us/100Gb/s"),
    "torus": (torus, "shape=4x4x4,link=1us/100Gb/s"),
    "fat_tree": (fat_tree, "leaves=4,ranks=8,spines=2,link=1us/100Gb/s, with up=… for other links above"),
    "rails": (rails, "nodes=4,gpus=8,nvlink=1us/450GB/s,rail=5us/400Gb/s, with spines=… and up=… between rails"),
    "dragonfly": (
        dragonfly,
        "groups=9,routers=4,ranks=2,far_links=2,link=1us/100Gb/s, with local=… and far=… for other links",
    ),
}
"""Networks by name: what makes it, and how its words are written."""


def _named(kind: str, text: str) -> Network:
    make, example = NAMED[kind]
    words = dict(part.partition("=")[::2] for part in text.partition(":")[2].split(",") if part)
    known, advice = inspect.signature(make).parameters, f"write it like {kind}:{example}"
    if unknown := [name for name in words if name not in known]:
        raise ValueError(f"{text!r}: there is no {unknown[0]!r}; there are {', '.join(known)}; {advice}")
    needed = [name for name, each in known.items() if each.default is each.empty]
    if missing := [f"{name}=" for name in needed if name not in words]:
        raise ValueError(f"{text!r}: {', '.join(missing)} is missing; {advice}")
    try:
        return Network(make(**{name: _value(name, word, known[name].annotation) for name, word in words.items()}))
    except (TypeError, ValueError) as error:
        raise ValueError(f"{text!r}: {error}; {advice}") from None


def _value(name: str, word: str, kind: str) -> Any:
    """A word as the annotation of its parameter asks for it."""
    if kind == "int":
        return _whole(name, word)
    if kind.startswith("Link"):
        latency, _, rate = word.partition("/")
        return topology.link(latency, rate)
    if kind == "Sequence[int]":
        return [_whole("a side of the shape", side) for side in word.split("x")]
    if kind == "bool" and word not in ("true", "false"):
        raise ValueError(f"{name} is true or false, not {word!r}")
    return word == "true" if kind == "bool" else word


def _whole(name: str, word: str) -> int:
    if not re.fullmatch(r"-?[0-9]{1,18}", word):
        raise ValueError(f"{name} is a whole number, not {word!r}")
    return int(word)


def load(path: str | Path) -> Network:
    """The network that `mtd calibrate` wrote; ValueError says what is wrong with the file."""
    try:
        words = json.loads(Path(path).read_text(encoding="utf-8"))
        if words["format"] != FORMAT:
            raise ValueError(f"its format is {words['format']!r}")
        above, below = words["ps_per_byte"]
        link = Link(int(words["latency_ps"]), Fraction(int(above), int(below)))
    except (ValueError, KeyError, TypeError, ArithmeticError, RecursionError) as error:
        raise ValueError(f"{path} holds no network ({clean(str(error))}); mtd calibrate writes one") from None
    return Network(Uniform(link))
