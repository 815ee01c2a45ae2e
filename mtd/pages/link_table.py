"""The links of a network, counted: how many there are of each kind, and how many routes pass each."""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction
from itertools import permutations
from typing import Any, NamedTuple

from transports.quantities import in_words
from transports.virtual.topology import Link, Topology

MOST = 1024  # ranks; all pairs of more are too many to look at


class LinkRow(NamedTuple):
    """The links of one kind. If each rank sends to each other one, a link is on so many routes."""

    kind: str
    number: int
    link: Link
    fewest: int
    most: int


def link_rows(topology: Topology, size: int) -> list[LinkRow]:
    """All links that messages between these ranks pass, by kind."""
    if size > MOST:
        raise ValueError(f"a table of links is for {MOST} ranks at most, not {size}")
    routes: defaultdict[tuple[str, Link], Counter[Any]] = defaultdict(Counter)
    for src, dst in permutations(range(size), 2):
        for port, link in topology.route(src, dst).links():
            routes[_kind(port), link][port] += 1
    counted = {kind: [*found.values()] for kind, found in routes.items()}
    return [LinkRow(kind, len(each), link, min(each), max(each)) for (kind, link), each in counted.items()]


def link_table(topology: Topology, size: int) -> str:
    """The same in words."""
    rows = [("links", "number", "latency", "rate", "routes through each")]
    for kind, number, link, fewest, most in link_rows(topology, size):
        routes = f"{fewest}" if fewest == most else f"{fewest} to {most}"
        rows.append((kind, f"{number}", in_words(link.latency + link.wire), _rate(link.per_byte), routes))
    first, *others = (max(map(len, column)) for column in zip(*rows, strict=True))
    return "\n".join("  ".join([row[0].ljust(first), *map(str.rjust, row[1:], others)]) for row in rows)


def _kind(port: Any) -> str:
    """The kind of a port: the first word of its name."""
    words = [port] if isinstance(port, str) else list(port) if isinstance(port, tuple) else []
    return next((word for word in words if isinstance(word, str)), "between neighbours")


def _rate(per_byte: Fraction) -> str:
    return f"{float(1000 / per_byte):.4g} GB/s" if per_byte else "no limit"
