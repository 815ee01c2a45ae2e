"""`mtd bench comm`: collectives over each transport, beside torch's gloo where torch is installed.

Every world is a set of processes that are alive at the same time and take turns, one measurement
each, so that a noisy machine hits all of them; what counts is the median of the ratios of neighbours.
Bandwidths are those of nccl-tests: algorithm bandwidth is bytes by time, bus bandwidth multiplies it
by what the best algorithm must move, 2(P-1)/P for all_reduce and (P-1)/P for its halves.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import socket
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

OPERATIONS = (
    "barrier",
    "send_recv",
    "broadcast",
    "all_reduce",
    "all_gather",
    "reduce_scatter",
    "all_to_all",
)
SIZES = {"8B": 8, "1KB": 1 << 10, "64KB": 1 << 16, "1MB": 1 << 20, "16MB": 1 << 24, "64MB": 1 << 26}
PEER = "gloo"
WORKER = "minitorch_dist.cli.bench_comm_worker"


class World:
    """The processes of one library and transport, and a pipe to each of them."""

    def __init__(self, name: str, size: int, folder: Path, worker: str = WORKER) -> None:
        self.name, self.size = name, size
        library = "torch" if name == PEER else "minitorch_dist"
        address = (
            f"tcp://127.0.0.1:{free_port()}" if name in (PEER, "tcp") else f"file://{folder / name}"
        )
        self.ranks = [
            subprocess.Popen(
                [sys.executable, "-m", worker, library, name, address, str(rank), str(size)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            )
            for rank in range(size)
        ]  # fmt: skip
        for rank in self.ranks:
            self._answer(rank)  # "ready"

    def time(self, what: str, detail: int | str, repeats: int) -> float:
        """Seconds of one operation (of so many bytes), as the slowest rank sees it."""
        for rank in self.ranks:
            assert rank.stdin is not None
            rank.stdin.write(f"{what} {detail} {repeats}\n")
            rank.stdin.flush()
        return max(float(self._answer(rank)) for rank in self.ranks)

    def _answer(self, rank: subprocess.Popen[str]) -> str:
        assert rank.stdout is not None
        line = rank.stdout.readline().strip()
        if not line:
            raise RuntimeError(f"a rank of the {self.name} world ended; it said why above")
        return line

    def close(self) -> None:
        for rank in self.ranks:
            if rank.stdin is not None:
                rank.stdin.close()
        for rank in self.ranks:
            try:
                rank.wait(20)
            except subprocess.TimeoutExpired:
                rank.kill()
                rank.wait()
            if rank.stdout is not None:
                rank.stdout.close()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def bus_factor(operation: str, size: int) -> float:
    if operation == "all_reduce":
        return 2 * (size - 1) / size
    if operation in ("all_gather", "reduce_scatter", "all_to_all"):
        return (size - 1) / size
    return 1.0


def measure(worlds: list[World], operation: str, nbytes: int, pairs: int) -> dict[str, list[float]]:
    """Seconds of each world, in turns; about 50 ms a turn."""
    first = max(world.time(operation, nbytes, 3) for world in worlds)
    repeats = max(1, min(2000, int(0.05 / max(first, 1e-7))))
    times: dict[str, list[float]] = {world.name: [] for world in worlds}
    for turn in range(pairs):
        for world in worlds[turn % len(worlds) :] + worlds[: turn % len(worlds)]:
            times[world.name].append(world.time(operation, nbytes, repeats))
    return times


def duration(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def main() -> int:
    parser = argparse.ArgumentParser(prog="mtd bench comm")
    parser.add_argument(
        "--only", action="append", default=[], help="only this operation (repeatable)"
    )
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--sizes", default=",".join(SIZES))
    parser.add_argument("--transports", default="tcp,file")
    options = parser.parse_args()
    operations = options.only or list(OPERATIONS)
    unknown = [o for o in operations if o not in OPERATIONS]
    if unknown:
        parser.error(f"no operation {unknown[0]!r}; there are {', '.join(OPERATIONS)}")
    sizes = options.sizes.split(",")
    if any(s not in SIZES for s in sizes):
        parser.error(f"sizes are {', '.join(SIZES)}; got {options.sizes}")
    names = options.transports.split(",")
    has_torch = importlib.util.find_spec("torch") is not None
    console = Console(highlight=False)
    with tempfile.TemporaryDirectory() as folder:
        worlds = [
            World(n, options.ranks, Path(folder)) for n in [*names, *([PEER] if has_torch else [])]
        ]
        try:
            report(console, worlds, names, operations, sizes, options)
        finally:
            for world in worlds:
                world.close()
    return 0


def report(
    console: Console, worlds: list[World], names: list[str], operations: list[str],
    sizes: list[str], options: argparse.Namespace,
) -> None:  # fmt: skip
    """One table per transport: time, bandwidths, and the ratio to gloo where that is there."""
    found: dict[str, list[tuple[str, ...]]] = {name: [] for name in names}
    ratios: dict[str, list[float]] = {name: [] for name in names}
    for operation in operations:
        for size in sizes if operation != "barrier" else ["8B"]:
            nbytes = SIZES[size]
            times = measure(worlds, operation, nbytes, options.pairs)
            for name in names:
                middle = statistics.median(times[name])
                row = [operation, "" if operation == "barrier" else size, duration(middle)]
                if operation == "barrier":
                    row += ["", ""]
                else:
                    moved = nbytes * (2 if operation == "send_recv" else 1) / middle / 1e9
                    row += [f"{moved:.3g}", f"{moved * bus_factor(operation, options.ranks):.3g}"]
                if PEER in times:
                    pairs = zip(times[name], times[PEER], strict=True)
                    ratio = statistics.median(a / b for a, b in pairs)
                    ratios[name].append(ratio)
                    row += [duration(statistics.median(times[PEER])), f"{ratio:.2f}"]
                found[name].append(tuple(row))
    for name in names:
        table = Table(
            title=f"{name}, {options.ranks} ranks, medians of {options.pairs} turns", box=SIMPLE
        )
        headings = ["operation", "bytes", "time", "GB/s", "bus GB/s"]
        for heading in headings + (["gloo", "ratio"] if ratios[name] else []):
            table.add_column(heading, justify="left" if heading == "operation" else "right")
        for cells in found[name]:
            table.add_row(*cells)
        console.print(table)
        if ratios[name]:
            mean = math.exp(statistics.fmean(math.log(r) for r in ratios[name]))
            console.print(
                f"{name} / gloo: geometric mean {mean:.2f}, worst {max(ratios[name]):.2f}"
            )


if __name__ == "__main__":
    sys.exit(main())
