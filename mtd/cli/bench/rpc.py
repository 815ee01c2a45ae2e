"""`mtd bench rpc`: remote calls over TCP between two processes, beside torch.distributed.rpc.

Both worlds live at the same time and take turns, one measurement each, so that a noisy machine hits both.
The result is the median of the ratios of neighbours. `--long` is the pipeline of `programs/`.
"""

from __future__ import annotations

import importlib.util
import statistics
import subprocess
import sys

from rich.console import Console

from mtd.cli import page
from mtd.cli.bench import rpc_pipeline
from mtd.cli.bench.comm import duration
from mtd.cli.bench.comm_worlds import free_port
from mtd.cli.parser import Parser

GOALS = {
    "int": 0.5, "method": 0.5, "remote": 0.5, "echo-1KB": 0.5, "echo-1MB": 1.0, "echo-16MB": 1.0,
    "1000-async": 0.7, "train": 0.6,
}  # fmt: skip
MEAN_GOAL = 0.5  # of the geometric mean
WORDS = {
    "int": "rpc_sync of an int", "method": "method of an RRef", "remote": "remote + to_here",
    "echo-1KB": "echo of 1 KB", "echo-1MB": "echo of 1 MB", "echo-16MB": "echo of 16 MB",
    "1000-async": "1,000 rpc_async in flight", "train": "Linear: forward, backward, step",
}  # fmt: skip


class RpcPair:
    """Two processes of one library."""

    def __init__(self, library: str) -> None:
        port = str(free_port())
        self.workers = [
            subprocess.Popen(
                [sys.executable, "-W", "ignore", "-m", "mtd.cli.bench.rpc_worker", library,
                 str(rank), port],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            )
            for rank in range(2)
        ]  # fmt: skip
        for worker in self.workers:
            self._answer(worker)

    def time(self, what: str, repeats: int) -> float:
        worker = self.workers[0]
        assert worker.stdin is not None
        worker.stdin.write(f"{what} {repeats}\n")
        worker.stdin.flush()
        return float(self._answer(worker))

    def _answer(self, worker: subprocess.Popen[str]) -> str:
        assert worker.stdout is not None
        line = worker.stdout.readline().strip()
        if not line:
            raise RuntimeError("a worker ended; it said why above")
        return line

    def close(self) -> None:
        for worker in self.workers:
            if worker.stdin is not None:
                worker.stdin.close()
        for worker in self.workers:
            try:
                worker.wait(20)
            except subprocess.TimeoutExpired:
                worker.kill()
                worker.wait()
            if worker.stdout is not None:
                worker.stdout.close()


def measure(worlds: list[RpcPair], what: str, pairs: int) -> list[list[float]]:
    """Seconds of each world, in turns; about 50 ms a turn."""
    first = max(world.time(what, 2) for world in worlds)
    repeats = max(1, min(500, int(0.05 / first)))
    times: list[list[float]] = [[] for _ in worlds]
    for turn in range(pairs):
        for number in range(len(worlds)):
            which = (number + turn) % len(worlds)
            times[which].append(worlds[which].time(what, repeats))
    return times


def main() -> int:
    parser = Parser(prog="mtd bench rpc")
    parser.takes(f"""
        --only {{{",".join(GOALS)}}}...  only this call (may be given again)
        --pairs PAIRS: int = 9           turns of each call (%(default)s)
    """)
    parser.add_argument(
        "--long", type=int, nargs="?", const=2, default=0, metavar="RUNS",
        help="minutes: only the ResNet50 pipeline, so many runs for each num_split (%(const)s)",
    )  # fmt: skip
    options = parser.parse_args()
    has_torch = importlib.util.find_spec("torch") is not None
    worlds: list[RpcPair] = []
    ratios: list[float] = []
    headings = ["call", "time", *(["torch", "ratio", "goal"] if has_torch else [])]
    title = f"tcp, 2 processes, medians of {options.pairs} turns"
    table = page.table(*headings, left=["call"], title=title)
    try:
        if options.long:
            table.title = (
                f"tcp, 3 processes, 3 batches of 24 pictures, medians of {options.long} runs"
            )
            rpc_pipeline.measure(table, has_torch, options.long)
        else:
            worlds += [RpcPair("minitorch_dist"), *([RpcPair("torch")] if has_torch else [])]
        for what in () if options.long else options.only or GOALS:
            times = measure(worlds, what, options.pairs)
            row = [WORDS[what], duration(statistics.median(times[0]))]
            if has_torch:
                ratio = statistics.median(a / b for a, b in zip(*times, strict=True))
                ratios.append(ratio)
                row += [duration(statistics.median(times[1])), f"{ratio:.2f}", f"≤ {GOALS[what]}"]
            table.add_row(*row)
    finally:
        for world in worlds:
            world.close()
    console = Console(highlight=False)
    console.print(page.fitting(table, console))
    if ratios:
        mean = statistics.geometric_mean(ratios)
        console.print(f"geometric mean of the ratios: {mean:.2f}, goal ≤ {MEAN_GOAL}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
