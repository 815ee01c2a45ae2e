"""`mtd bench comm`: collectives over each transport, beside torch's gloo and Open MPI where they are.

All worlds are alive at the same time and take turns, one short measurement each, so that a noisy
machine hits all of them. The result is the median of the ratios of neighbours in time. Bandwidths are those
of nccl-tests. Algorithm bandwidth is bytes by time. Bus bandwidth multiplies it by the traffic of the best
algorithm: 2(P-1)/P for all_reduce, and (P-1)/P for its halves and all_to_all. The column `held` is the
memory that a rank held at most beyond its input, in multiples of its bytes.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
from collections.abc import Sequence

from mtd.cli import page
from mtd.cli.bench import comm_brokers, record
from mtd.cli.bench.collectives import OPERATIONS
from mtd.cli.bench.turns import TimedRow, mean_and_worst
from mtd.cli.bench.worlds import PEERS, BenchWorld, measured, missing, opened
from mtd.refusals import CannotDo, refusing
from transports import keeper, registry

SIZES = {"8B": 8, "1KB": 1 << 10, "64KB": 1 << 16, "1MB": 1 << 20, "16MB": 1 << 24, "64MB": 1 << 26}
TRANSPORTS = ("tcp", "file", "queue", "mqtt")
TURN = 0.03  # seconds
USAGE = f"""
    --only {{{",".join(OPERATIONS)}}}...       only this one (repeatable)
    --rounds|--pairs N: int = 9                 turns of each world per cell (9)
    --ranks RANKS: numbers = 2             numbers of ranks, as in 2,4 (2)
    --size|--sizes {{{",".join(SIZES)}}}: words = {",".join(SIZES)}      of these (all)
    --net|--transports NET: words = tcp,file     of {",".join(TRANSPORTS)}; mqtt: over our own broker, mqtt://host:port: over the one there; or the address of a transport of yours, spool:///folder
    --against {{{",".join(PEERS)},none}}: words = {",".join(PEERS)}  the peers that it is compared with
    {record.OPTION}
"""


def run(options: argparse.Namespace) -> int:
    for word in options.net:
        if word not in TRANSPORTS and not is_address(word):
            raise CannotDo(f"--net: there is no {word!r}; there are {', '.join(TRANSPORTS)}")
    if min(options.ranks) < 2:
        raise CannotDo(f"--ranks: numbers from 2 on, as in 2,4; got {min(options.ranks)}")
    with refusing():
        names = {word: comm_brokers.title(word) if "mqtt" in word else word for word in options.net}
    say, peers = page.Page().say, [peer for peer in options.against if peer != "none"]
    for peer in filter(missing, [*peers]):
        peers.remove(peer)
        say(f"without {peer}: {missing(peer)}")
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else math.nan
    say(f"{os.cpu_count()} cores, load {load:.1f} before we began")
    for ranks in options.ranks:
        rows, held = timed(ranks, [*names, *peers], options)
        for name, called in names.items():
            title = f"{called}, {ranks} ranks, medians of {options.rounds} turns"
            show(title, name, ranks, rows, held, peers)
            record.keep(options.out, "comm", recorded(rows, name, ranks, peers))
        for name, called in names.items():
            for other in [*peers, *(["file"] if name == "queue" and "file" in names else [])]:
                ratios = {row.name: row.ratio(name, other) for row in rows}
                say(f"{called} / {other}: {mean_and_worst(ratios)}")
    return 0


def is_address(word: str) -> bool:
    """Whether it is a broker, or a transport that a package brings."""
    of_a_package = {*registry.known()} - {*registry.BUILT_IN}
    return comm_brokers.is_broker(word) or ("://" in word and registry.scheme_of(word) in of_a_package)


def timed(
    ranks: int, names: Sequence[str], options: argparse.Namespace
) -> tuple[list[TimedRow], dict[tuple[str, str], float]]:
    """The rows, `all_reduce 64KB` and so on; and for each row and transport the bytes that it held beyond its input."""
    rows: list[TimedRow] = []
    held: dict[tuple[str, str], float] = {}
    with keeper.temporary_folder("mtd-") as folder, opened(BenchWorld(name, ranks, folder) for name in names) as worlds:
        for operation in options.only or OPERATIONS:
            for size in ["8B"] if operation == "barrier" else options.size:
                name = operation if operation == "barrier" else f"{operation} {size}"
                sides = {world.name: (world, f"{operation} {SIZES[size]}") for world in worlds}
                rows.append(measured(name, sides, options.rounds, TURN, most=2000))
                held |= {(name, w.name): w.tell("memory 0") for w in worlds if w.name not in PEERS}
    return rows, held


def show(
    title: str,
    name: str,
    ranks: int,
    rows: Sequence[TimedRow],
    held: dict[tuple[str, str], float],
    peers: Sequence[str],
) -> None:
    """One transport: time, bandwidths, what it held beyond its tensors, and the ratios."""
    of_peers = [word for peer in peers for word in (peer, f"/{peer}")]
    table = page.table("", "bytes", "time", "GB/s", "bus", "held", *of_peers, title=title, is_tight=True)
    table.padding = (0, 0)
    for row in rows:
        operation, _, size = row.name.partition(" ")
        cells = [operation, size, row.said(name), "", "", ""]
        if size:
            nbytes = SIZES[size]
            moved = nbytes * (2 if operation == "send_recv" else 1) / row.median(name) / 1e9
            cells[3:5] = f"{moved:.2f}", f"{moved * bus_factor(operation, ranks):.2f}"
            cells[5] = f"{held[row.name, name] / nbytes:.2f}" if nbytes >= 1 << 16 else ""
        for peer in peers:
            cells += [row.said(peer), f"{row.ratio(name, peer):#.3g}"]
        table.add_row(*cells)
    page.show(table)


def bus_factor(operation: str, size: int) -> float:
    if operation == "all_reduce":
        return 2 * (size - 1) / size
    if operation in ("all_gather", "reduce_scatter", "all_to_all"):
        return (size - 1) / size
    return 1.0


def recorded(rows: Sequence[TimedRow], name: str, ranks: int, peers: Sequence[str]) -> record.Rows:
    """The rows of a transport for the page of benchmarks: one for each operation, with the ratios over all sizes."""
    found: record.Rows = {}
    for operation in dict.fromkeys(row.name.partition(" ")[0] for row in rows):
        own = [row for row in rows if row.name.partition(" ")[0] == operation]
        cells = {row.name.partition(" ")[2] or "8B": row.said(name) for row in own}
        for peer in peers:
            ratios = sorted(row.ratio(name, peer) for row in own)
            cells[f"/ {peer}"] = f"{ratios[0]:.2g}–{ratios[-1]:.2g}"
        found[f"{operation}, {name}, {ranks} ranks"] = cells
    means = found[f"geometric mean, {name}, {ranks} ranks"] = {}
    for peer in peers:
        means[f"/ {peer}"] = f"{statistics.geometric_mean(row.ratio(name, peer) for row in rows):.2f}"
    return found
