"""`mtd bench pytorch`: PyTorch itself over our wires, beside PyTorch over gloo.

All worlds are alive at the same time and take turns, one short measurement each, so that a noisy machine hits all of them. A
ratio is the median of the ratios of neighbours. The columns `cpu` are ratios of the processor time of all threads of a rank,
which other programs disturb less. All sides have one thread of linear algebra in each rank.

The rows `ranks` and `fsdp-8b` take minutes and run only if asked for (see `pytorch_simulated`).
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from mtd.cli import page
from mtd.cli.bench import pytorch_simulated as simulated, record
from mtd.cli.bench.turns import TimedRow, mean_and_worst
from mtd.cli.bench.worlds import PEER, BenchWorld, measured, missing, opened
from mtd.refusals import CannotDo
from transports import keeper

SIZES: Final = {"4KB": 1 << 12, "64KB": 1 << 16, "1MB": 1 << 20, "16MB": 1 << 24, "64MB": 1 << 26}
COLLECTIVES: Final = {  # each row, and its command to a worker
    f"{operation}-{size}": f"{operation} {nbytes}"
    for operation in ("all_reduce", "all_gather", "reduce_scatter")
    for size, nbytes in SIZES.items()
}
TRAINING: Final = {
    "ddp-mlp": "mlp-1024 ddp",
    "ddp-convnet": "convnet-32 ddp",
    "ddp-wide": "wide-16 ddp",
    "fsdp-mlp": "mlp-1024 rows",
}
RANKS: Final = 2
TURN: Final = 0.1  # seconds of one measurement
KINDS: Final = {"collectives": list(COLLECTIVES), "training": list(TRAINING)}
GOALS: Final = {  # of the geometric means
    ("collectives", "tcp"): 0.5,
    ("collectives", "file"): 0.25,
    ("training", "tcp"): 0.65,
    ("training", "file"): 0.5,
}
MOST: Final = 1.0  # of any ratio
USAGE: Final = f"""
    --net|--transport {{tcp,file}}...          over this wire only (repeatable)
    --rows ROWS: words = collectives,training   of collectives, training, single rows (like {next(iter(COLLECTIVES))},ddp-mlp), and {" and ".join(simulated.ROWS)}
    --rounds|--turns N: positive = 9              of each world in each row (%(default)s)
    {record.OPTION}
"""


def run(options: argparse.Namespace) -> int:
    if missing(PEER):
        raise CannotDo("PyTorch is not installed: pip install 'minitorch_dist[torch]'")
    rows, wires = chosen(options.rows), list(dict.fromkeys(options.net or ["tcp", "file"]))
    beside_gloo = [row for row in rows if row not in simulated.ROWS]
    with keeper.temporary_folder("mtd-") as folder:
        if beside_gloo:
            found = timed(beside_gloo, wires, options.rounds, folder)
            show(found, wires, options.rounds)
            record.keep(options.out, "pytorch", {row.name: recorded(row, wires) for row in found})
        for row in rows:
            if row in simulated.ROWS:
                page.Page().say(simulated.ROWS[row](folder))
    return 0


def chosen(given: Sequence[str]) -> list[str]:
    """The rows of a list of rows and kinds of rows; CannotDo names what is unknown."""
    every = [*COLLECTIVES, *TRAINING, *simulated.ROWS]
    for word in given:
        if word not in KINDS and word not in every:
            raise CannotDo(f"--rows: there is no {word!r}; there are {', '.join([*KINDS, *every])}")
    return list(dict.fromkeys(row for word in given for row in KINDS.get(word, [word])))


def timed(rows: Sequence[str], wires: Sequence[str], rounds: int, folder: Path) -> list[TimedRow]:
    """The worlds take turns, row by row."""
    commands = COLLECTIVES | TRAINING
    with opened(BenchWorld(name, RANKS, folder, library="torch") for name in [PEER, *wires]) as worlds:
        return [measured(row, {w.name: (w, commands[row]) for w in worlds}, rounds, TURN) for row in rows]


def show(rows: Sequence[TimedRow], wires: Sequence[str], rounds: int) -> None:
    """The table, and below it what became of the goals."""
    columns = [word for wire in wires for word in (wire, f"/{PEER}", "cpu")]
    table = page.table(
        "row", PEER, *columns, left=["row"], title=f"PyTorch, {RANKS} ranks, medians of {rounds} turns", is_tight=True
    )
    for row in rows:
        cells = [
            word
            for wire in wires
            for word in (row.said(wire), f"{row.ratio(wire, PEER):.2f}", f"{row.processor_ratio(wire, PEER):.2f}")
        ]
        table.add_row(row.name, row.said(PEER), *cells)
    page.show(table)
    for kind, names in KINDS.items():
        for wire in wires:
            ratios = {row.name: row.ratio(wire, PEER) for row in rows if row.name in names}
            if ratios:
                said = mean_and_worst(ratios, (GOALS[kind, wire], MOST))
                page.Page().say(f"{kind}, {wire} / {PEER}: {said}")


def recorded(row: TimedRow, wires: Sequence[str]) -> dict[str, str]:
    """The cells of a row for the page of benchmarks."""
    found = {PEER: row.said(PEER)}
    for wire in wires:
        found[f"{wire} / {PEER}"] = f"{row.ratio(wire, PEER):.2f}"
        found[f"processor, {wire}"] = f"{row.processor_ratio(wire, PEER):.2f}"
    return found
