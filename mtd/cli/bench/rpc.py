"""`mtd bench rpc`: remote calls over TCP between two processes, beside torch.distributed.rpc.

Both worlds live at the same time and take turns, one measurement each, so that a noisy machine hits both.
The result is the median of the ratios of neighbours. `--long` is the pipeline of `programs/`.
"""

from __future__ import annotations

import statistics

from rich.console import Console

from mtd.cli import page
from mtd.cli.bench import record, rpc_pipeline
from mtd.cli.bench.turns import duration, filling, ratio
from mtd.cli.bench.worlds import PEER, BenchWorld, missing, opened
from mtd.cli.parser import Parser
from transports import keeper

ROWS = {  # each call in words, and the goal of its ratio
    "int": ("rpc_sync of an int", 0.5), "method": ("method of an RRef", 0.5), "remote": ("remote + to_here", 0.5),
    "echo-1KB": ("echo of 1 KB", 0.5), "echo-1MB": ("echo of 1 MB", 1.0), "echo-16MB": ("echo of 16 MB", 1.0),
    "1000-async": ("1,000 rpc_async in flight", 0.7), "train": ("Linear: forward, backward, step", 0.6),
}  # fmt: skip
MEAN_GOAL = 0.5  # of the geometric mean
WORKER = "mtd.cli.bench.rpc_worker"


def measure(worlds: list[BenchWorld], what: str, pairs: int) -> list[list[float]]:
    """Seconds of each world, in turns; about 50 ms a turn."""
    return filling(worlds, pairs, 0.05, lambda world, repeats: world.tell(f"{what} {repeats}", 1), most=500)


def main() -> int:
    parser = Parser(prog="mtd bench rpc")
    parser.takes(f"""
        --only {{{",".join(ROWS)}}}...  only this call (may be given again)
        --rounds|--pairs N: int = 9           turns of each call (%(default)s)
        {record.OPTION}
    """)
    parser.add_argument(
        "--long", type=int, nargs="?", const=2, default=0, metavar="RUNS",
        help="minutes: only the ResNet50 pipeline, so many runs for each num_split (%(const)s)",
    )  # fmt: skip
    options = parser.parse_args()
    has_torch = not missing(PEER)
    ratios: list[float] = []
    headings = ["call", "time", *(["torch", "ratio", "goal"] if has_torch else [])]
    title = f"tcp, 2 processes, medians of {options.rounds} turns"
    if options.long:
        title = f"tcp, 3 processes, 3 batches of 24 pictures, medians of {options.long} runs"
    table = page.table(*headings, left=["call"], title=title)
    names = [] if options.long else ["tcp", PEER][: 1 + has_torch]
    with (
        keeper.temporary_folder("mtd-") as folder,
        opened(BenchWorld(name, 2, folder, WORKER) for name in names) as worlds,
    ):
        for what in () if options.long else options.only or ROWS:
            times = measure(worlds, what, options.rounds)
            said, goal = ROWS[what]
            row = [said, duration(statistics.median(times[0]))]
            if has_torch:
                ratios.append(ratio(*times))
                row += [duration(statistics.median(times[1])), f"{ratios[-1]:.2f}", f"≤ {goal}"]
            table.add_row(*row)
    if options.long:
        rpc_pipeline.measure(table, has_torch, options.long)
    console = Console(highlight=False)
    console.print(page.fitting(table, console))
    record.keep(options.out, "rpc", record.rows_of(table))
    if ratios:
        mean = statistics.geometric_mean(ratios)
        console.print(f"geometric mean of the ratios: {mean:.2f}, goal ≤ {MEAN_GOAL}")
    return 0
