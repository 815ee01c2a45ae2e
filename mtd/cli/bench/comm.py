"""`mtd bench comm`: collectives over each transport, beside torch's gloo and Open MPI where they are.

All worlds are alive at the same time and take turns, one short measurement each, so that a noisy
machine hits all of them. The result is the median of the ratios of neighbours in time. Bandwidths are those
of nccl-tests. Algorithm bandwidth is bytes by time. Bus bandwidth multiplies it by the traffic of the best
algorithm: 2(P-1)/P for all_reduce, and (P-1)/P for its halves and all_to_all. The column `held` is the
memory that a rank held at most beyond its input, in multiples of its bytes.
"""

from __future__ import annotations

import math
import os
import statistics
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from mtd.cli import page
from mtd.cli.bench import comm_brokers, record
from mtd.cli.bench.collectives import OPERATIONS
from mtd.cli.bench.turns import duration, filling, mean_and_worst, ratio
from mtd.cli.bench.worlds import PEERS, BenchWorld, missing, opened
from mtd.cli.parser import Parser
from transports import keeper, registry

SIZES = {"8B": 8, "1KB": 1 << 10, "64KB": 1 << 16, "1MB": 1 << 20, "16MB": 1 << 24, "64MB": 1 << 26}
TRANSPORTS = ("tcp", "file", "queue", "mqtt")
TURN = 0.03  # seconds


class BenchCell(NamedTuple):
    """One operation of one size: seconds by world and turn, and bytes held by world."""

    operation: str
    size: str
    times: dict[str, list[float]]
    held: dict[str, float]

    def ratio(self, ours: str, theirs: str) -> float:
        return ratio(self.times[ours], self.times[theirs])

    def __str__(self) -> str:
        return self.operation if self.operation == "barrier" else f"{self.operation} {self.size}"


def bus_factor(operation: str, size: int) -> float:
    if operation == "all_reduce":
        return 2 * (size - 1) / size
    if operation in ("all_gather", "reduce_scatter", "all_to_all"):
        return (size - 1) / size
    return 1.0


def measure(worlds: list[BenchWorld], operation: str, size: str, pairs: int) -> BenchCell:
    """Let the worlds take turns."""
    command = f"{operation} {SIZES[size]}"
    found = filling(worlds, pairs, TURN, lambda world, repeats: world.tell(f"{command} {repeats}"), most=2000)
    times = {world.name: each for world, each in zip(worlds, found, strict=True)}
    held = {world.name: world.tell("memory 0") for world in worlds if world.name not in PEERS}
    return BenchCell(operation, size, times, held)


def table_of(
    name: str, called: str, ranks: int, cells: list[BenchCell], peers: list[str], pairs: int
) -> Table:
    """One transport: time, bandwidths, what it held beyond its tensors, and the ratios."""
    title = f"{called}, {ranks} ranks, medians of {pairs} turns"
    of_peers = [word for peer in peers for word in (peer, f"/{peer}")]
    table = page.table("", "bytes", "time", "GB/s", "bus", "held", *of_peers, title=title)
    table.padding, table.show_edge, table.min_width = (0, 0), False, min(len(title), 79)
    for column in table.columns:
        column.no_wrap = True
    for cell in cells:
        middle, nbytes = statistics.median(cell.times[name]), SIZES[cell.size]
        row = [cell.operation, "", duration(middle), "", "", ""]
        if cell.operation != "barrier":
            moved = nbytes * (2 if cell.operation == "send_recv" else 1) / middle / 1e9
            row[1], row[3] = cell.size, f"{moved:.2f}"
            row[4] = f"{moved * bus_factor(cell.operation, ranks):.2f}"
            row[5] = f"{cell.held[name] / nbytes:.2f}" if nbytes >= 1 << 16 else ""
        for peer in peers:
            row += [duration(statistics.median(cell.times[peer])), f"{cell.ratio(name, peer):#.3g}"]
        table.add_row(*row)
    return table


def summary(cells: list[BenchCell], ours: str, theirs: str, called: str) -> str:
    """`file / gloo: geometric mean 0.13, worst 0.47 (send_recv 64MB)`"""
    return f"{called} / {theirs}: {mean_and_worst({str(cell): cell.ratio(ours, theirs) for cell in cells})}"


def report(console: Console, ranks: int, names: dict[str, str], peers: list[str],
           operations: list[str], sizes: list[str], pairs: int) -> list[BenchCell]:  # fmt: skip
    """Measure one number of ranks, and print it. `names`: what each transport is called."""
    with (
        keeper.temporary_folder("mtd-") as folder,
        opened(BenchWorld(name, ranks, folder) for name in [*names, *peers]) as worlds,
    ):
        cells = [
            measure(worlds, operation, size, pairs)
            for operation in operations
            for size in (["8B"] if operation == "barrier" else sizes)
        ]
    for name in names:
        table = table_of(name, names[name], ranks, cells, peers, pairs)
        console.print(page.fitting(table, console))
    for name in names:
        others = [*peers, *(["file"] if name == "queue" and "file" in names else [])]
        for other in others:
            console.print(summary(cells, name, other, names[name]))
    return cells


def recorded(cells: list[BenchCell], name: str, ranks: int, peers: list[str]) -> record.Rows:
    """The rows of a transport for the page of benchmarks: one for each operation, with the ratios over all sizes."""
    found: record.Rows = {}
    for operation in dict.fromkeys(cell.operation for cell in cells):
        own = [cell for cell in cells if cell.operation == operation]
        row = {cell.size: duration(statistics.median(cell.times[name])) for cell in own}
        for peer in peers:
            ratios = sorted(cell.ratio(name, peer) for cell in own)
            row[f"/ {peer}"] = f"{ratios[0]:.2g}–{ratios[-1]:.2g}"
        found[f"{operation}, {name}, {ranks} ranks"] = row
    means = {
        f"/ {peer}": statistics.geometric_mean(cell.ratio(name, peer) for cell in cells) for peer in peers
    }
    found[f"geometric mean, {name}, {ranks} ranks"] = {peer: f"{mean:.2f}" for peer, mean in means.items()}
    return found


def is_address(word: str) -> bool:
    """Whether it is a broker, or a transport that a package brings."""
    of_a_package = {*registry.known()} - {*registry.BUILT_IN}
    return comm_brokers.is_broker(word) or ("://" in word and registry.scheme_of(word) in of_a_package)


def main() -> int:
    parser = Parser(prog="mtd bench comm", description=__doc__.partition("\n")[0])
    parser.takes(f"""
        --only OPERATION...                    only this one (repeatable): {", ".join(OPERATIONS)}
        --rounds|--pairs N: int = 9                 turns of each world per cell (9)
        --ranks RANKS = 2                      numbers of ranks, as in 2,4 (2)
        --size|--sizes SIZES = {",".join(SIZES)}      of {",".join(SIZES)}
        --net|--transports NET = tcp,file     of {",".join(TRANSPORTS)}; mqtt: over our own broker, mqtt://host:port: over the one there; or the address of a transport of yours, spool:///folder
        --against AGAINST = {",".join(PEERS)}  of {",".join(PEERS)}, or none
        {record.OPTION}
    """)
    options = parser.parse_args()
    chosen = {
        "--only": (options.only or list(OPERATIONS), OPERATIONS),
        "--size": (options.size.split(","), SIZES),
        "--net": (options.net.split(","), TRANSPORTS),
        "--against": ([p for p in options.against.split(",") if p not in ("", "none")], PEERS),
    }
    for said, (given, known) in chosen.items():
        for word in given:
            if word not in known and not (said == "--net" and is_address(word)):
                parser.error(f"{said}: there is no {word!r}; there are {', '.join(known)}")
    if not all(word.isdigit() and int(word) > 1 for word in options.ranks.split(",")):
        parser.error(f"--ranks: numbers from 2 on, as in 2,4; got {options.ranks!r}")
    operations, sizes, words, wanted = ([*given] for given, _ in chosen.values())
    try:
        names = {word: comm_brokers.title(word) if "mqtt" in word else word for word in words}
    except (ValueError, ConnectionError) as error:
        parser.error(f"--net: {error}")
    console = Console(highlight=False)
    for peer in [peer for peer in wanted if missing(peer)]:
        wanted.remove(peer)
        console.print(f"without {peer}: {missing(peer)}")
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else math.nan
    console.print(f"{os.cpu_count()} cores, load {load:.1f} before we began")
    for ranks in map(int, options.ranks.split(",")):
        cells = report(console, ranks, names, wanted, operations, sizes, options.rounds)
        for name in names:
            record.keep(options.out, "comm", recorded(cells, name, ranks, wanted))
    return 0
