"""`mtd bench pytorch`: PyTorch itself over our wires, beside PyTorch over gloo.

All worlds are alive at the same time and take turns, one short measurement each, so that a noisy machine hits all of them. A
ratio is the median of the ratios of neighbours. The columns `cpu` are ratios of the processor time of all threads of a rank,
which other programs disturb less. All sides have one thread of linear algebra in each rank.

The rows `ranks` and `fsdp-8b` take minutes and run only if asked for (see `pytorch_simulated`).
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Final, NamedTuple

from rich.console import Console

from mtd.cli import page
from mtd.cli.bench import pytorch_simulated as simulated, record
from mtd.cli.bench.turns import duration, filling, mean_and_worst, ratio
from mtd.cli.bench.worlds import PEER, BenchWorld, missing, opened
from mtd.cli.parser import Parser
from transports import keeper

SIZES: Final = {"4KB": 1 << 12, "64KB": 1 << 16, "1MB": 1 << 20, "16MB": 1 << 24, "64MB": 1 << 26}
COLLECTIVES: Final = {  # each row, and its command to a worker
    f"{operation}-{size}": f"{operation} {nbytes}"
    for operation in ("all_reduce", "all_gather", "reduce_scatter") for size, nbytes in SIZES.items()
}  # fmt: skip
TRAINING: Final = {
    "ddp-mlp": "mlp-1024 ddp", "ddp-convnet": "convnet-32 ddp", "ddp-wide": "wide-16 ddp", "fsdp-mlp": "mlp-1024 rows",
}  # fmt: skip
RANKS: Final = 2
TURN: Final = 0.1  # seconds of one measurement
KINDS: Final = {"collectives": list(COLLECTIVES), "training": list(TRAINING)}
GOALS: Final = {  # of the geometric means
    ("collectives", "tcp"): 0.5, ("collectives", "file"): 0.25, ("training", "tcp"): 0.65, ("training", "file"): 0.5,
}  # fmt: skip
MOST: Final = 1.0  # of any ratio


class TorchCell(NamedTuple):
    """One row: seconds, and seconds of the processor, by world and turn."""

    row: str
    times: dict[str, list[float]]
    processor: dict[str, list[float]]

    def ratio(self, wire: str) -> float:
        return ratio(self.times[wire], self.times[PEER])

    def of_processor(self, wire: str) -> float:
        return ratio(self.processor[wire], self.processor[PEER])


def measure(worlds: Sequence[BenchWorld], row: str, turns: int) -> TorchCell:
    """Let the worlds take turns."""
    command = (COLLECTIVES | TRAINING)[row]
    processor: dict[str, list[float]] = {world.name: [] for world in worlds}

    def ask(world: BenchWorld, repeats: int) -> float:
        seconds = world.tell(f"{command} {repeats}")
        processor[world.name].append(world.tell("processor 0"))
        return seconds

    found = filling(worlds, turns, TURN, ask)
    in_turns = {
        name: each[-turns:] for name, each in processor.items()
    }  # without the first, which says how often
    return TorchCell(row, dict(zip(processor, found, strict=True)), in_turns)


def show(console: Console, cells: Sequence[TorchCell], wires: Sequence[str], turns: int) -> None:
    """The table, and below it what became of the goals."""
    columns = [word for wire in wires for word in (wire, f"/{PEER}", "cpu")]
    table = page.table(
        "row", PEER, *columns, left=["row"], title=f"PyTorch, {RANKS} ranks, medians of {turns} turns"
    )
    table.padding = (0, 0, 0, 1)
    for column in table.columns:
        column.no_wrap = True
    for cell in cells:
        words = [cell.row, duration(statistics.median(cell.times[PEER]))]
        for wire in wires:
            middle = duration(statistics.median(cell.times[wire]))
            words += [middle, f"{cell.ratio(wire):.2f}", f"{cell.of_processor(wire):.2f}"]
        table.add_row(*words)
    console.print(page.fitting(table, console))
    for kind, rows in KINDS.items():
        ours = [cell for cell in cells if cell.row in rows]
        for wire in wires if ours else ():
            console.print(summary(kind, wire, ours))


def summary(kind: str, wire: str, cells: Sequence[TorchCell]) -> str:
    ratios = {cell.row: cell.ratio(wire) for cell in cells}
    return f"{kind}, {wire} / {PEER}: {mean_and_worst(ratios, (GOALS[kind, wire], MOST))}"


def chosen(given: str) -> list[str]:
    """The rows of a list of rows and kinds of rows; ValueError names what is unknown."""
    every = [*COLLECTIVES, *TRAINING, *simulated.ROWS]
    found: list[str] = []
    for word in given.split(","):
        if word not in KINDS and word not in every:
            raise ValueError(f"there is no {word!r}; there are {', '.join([*KINDS, *every])}")
        found += KINDS.get(word, [word])
    return list(dict.fromkeys(found))


def main() -> int:
    parser = Parser(prog="mtd bench pytorch", description=__doc__.partition("\n")[0])
    parser.takes(f"""
        --net|--transport {{tcp,file}}...          over this wire only (repeatable)
        --rows ROWS = collectives,training   of collectives, training, single rows (like {next(iter(COLLECTIVES))},ddp-mlp), and {" and ".join(simulated.ROWS)}
        --rounds|--turns N: positive = 9              of each world in each row (%(default)s)
        {record.OPTION}
    """)
    options = parser.parse_args()
    if missing(PEER):
        parser.error("PyTorch is not installed: pip install 'minitorch_dist[torch]'")
    try:
        rows = chosen(options.rows)
    except ValueError as error:
        parser.error(f"--rows: {error}")
    console, wires = Console(highlight=False), list(dict.fromkeys(options.net or ["tcp", "file"]))
    beside_gloo = [row for row in rows if row not in simulated.ROWS]
    cells: list[TorchCell] = []
    with keeper.temporary_folder("mtd-") as folder:
        if beside_gloo:
            with opened(
                BenchWorld(name, RANKS, folder, library="torch") for name in [PEER, *wires]
            ) as worlds:
                cells = [measure(worlds, row, options.rounds) for row in beside_gloo]
            show(console, cells, wires, options.rounds)
        for row in rows:
            if row in simulated.ROWS:
                console.print(simulated.ROWS[row](folder))
    record.keep(options.out, "pytorch", {cell.row: recorded(cell, wires) for cell in cells})
    return 0


def recorded(cell: TorchCell, wires: Sequence[str]) -> dict[str, str]:
    """The cells of a row for the page of benchmarks."""
    found = {PEER: duration(statistics.median(cell.times[PEER]))}
    for wire in wires:
        found |= {
            f"{wire} / {PEER}": f"{cell.ratio(wire):.2f}",
            f"processor, {wire}": f"{cell.of_processor(wire):.2f}",
        }
    return found
