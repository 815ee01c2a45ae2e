"""`mtd bench rpc`: remote calls over TCP between two processes, beside torch.distributed.rpc.

Both worlds live at the same time and take turns, one measurement each, so that a noisy machine hits both.
The result is the median of the ratios of neighbours. `--long` is the pipeline of `programs/`.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator

from mtd.cli import page
from mtd.cli.bench import record, rpc_pipeline
from mtd.cli.bench.turns import TimedRow
from mtd.cli.bench.worlds import PEER, BenchWorld, measured, missing, opened
from transports import keeper

ROWS = {  # each call in words, and the goal of its ratio
    "int": ("rpc_sync of an int", 0.5),
    "method": ("method of an RRef", 0.5),
    "remote": ("remote + to_here", 0.5),
    "echo-1KB": ("echo of 1 KB", 0.5),
    "echo-1MB": ("echo of 1 MB", 1.0),
    "echo-16MB": ("echo of 16 MB", 1.0),
    "1000-async": ("1,000 rpc_async in flight", 0.7),
    "train": ("Linear: forward, backward, step", 0.6),
}
MEAN_GOAL = 0.5  # of the geometric mean
TURN = 0.05  # seconds that one measurement takes
WORKER = "mtd.cli.bench.rpc_worker"
USAGE = f"""
    --only {{{",".join(ROWS)}}}...  only this call (may be given again)
    --rounds|--pairs N: int = 9           turns of each call (%(default)s)
    --long [RUNS]: int  minutes: only the ResNet50 pipeline, so many runs for each num_split (2)
    {record.OPTION}
"""


def run(options: argparse.Namespace) -> int:
    sides, runs = ["tcp", PEER] if not missing(PEER) else ["tcp"], options.long or 2
    title, rows = f"2 processes, medians of {options.rounds} turns", calls(sides, options)
    if options.long is not None:
        title = f"3 processes, 3 batches of 24 pictures, medians of {runs} runs"
        rows = rpc_pipeline.rows(PEER in sides, runs)
    of_peer = ["torch", "ratio", "goal"] if PEER in sides else []
    table = page.table("call", "time", *of_peer, left=["call"], title=f"tcp, {title}")
    ratios = []
    for row, goal in rows:
        table.add_row(row.name, *row.beside(goal))
        ratios += [row.ratio(*sides)] if PEER in sides else []
    page.show(table)
    record.keep(options.out, "rpc", record.rows_of(table))
    if ratios and options.long is None:
        print(f"geometric mean of the ratios: {statistics.geometric_mean(ratios):.2f}, goal ≤ {MEAN_GOAL}")
    return 0


def calls(sides: list[str], options: argparse.Namespace) -> Iterator[tuple[TimedRow, float]]:
    """Each call, and the goal of its ratio. Only the first of both processes is asked."""
    with (
        keeper.temporary_folder("mtd-") as folder,
        opened(BenchWorld(side, 2, folder, WORKER, asked=1) for side in sides) as worlds,
    ):
        for what in options.only or ROWS:
            said, goal = ROWS[what]
            yield measured(said, {w.name: (w, what) for w in worlds}, options.rounds, TURN, most=500), goal
