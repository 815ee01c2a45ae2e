"""`mtd bench train`: DDP and FSDP over each transport, beside torch's over gloo.

All worlds are alive at the same time and take turns, one short measurement each, so that a noisy
machine hits all of them; a ratio is the median of the ratios of neighbours. It answers three questions. How
many samples per second are there beside torch? How much time does sending beside the computing save? What
does DDP cost on one rank, where there is no peer?
"""

from __future__ import annotations

import statistics

from rich.console import Console
from rich.table import Table

from mtd.cli import page
from mtd.cli.bench import record
from mtd.cli.bench.steps import BATCHES
from mtd.cli.bench.turns import duration, filling, ratio
from mtd.cli.bench.worlds import PEER, BenchWorld, missing, opened
from mtd.cli.parser import Parser
from transports import keeper

TURN = 0.3  # seconds that one measurement takes


def main() -> int:
    parser = Parser(prog="mtd bench train")
    parser.takes(f"""
        --only {{{",".join([*BATCHES, "overhead"])}}}...  only this model, or what DDP costs on one rank (repeatable)
        --ways WAYS = ddp,fsdp,rows                       of ddp, fsdp, rows (fully_shard); all by default
        --rounds|--pairs N: int = 9                            turns of each world (%(default)s)
        --ranks RANKS: int = 2                            how many (%(default)s)
        --net|--transports NET = tcp,file                over which wires (%(default)s)
        {record.OPTION}
    """)
    options = parser.parse_args()
    chosen = options.only or ["mlp", "convnet", "wide", "overhead"]
    console = Console(highlight=False)
    names = options.net.split(",")
    with keeper.temporary_folder("mtd-") as folder:
        together = [m for m in chosen if m != "overhead"]
        among = [*names, *([] if missing(PEER) else [PEER])] if together else []
        with opened(BenchWorld(name, options.ranks, folder) for name in among) as worlds:
            for way in options.ways.split(",") if together else ():
                table = beside_torch(console, worlds, together, options.rounds, way)
                rows = record.rows_of(table, names=2)
                record.keep(
                    options.out, "train", {f"{WAYS[way]}, {what}": cells for what, cells in rows.items()}
                )
            if "wide" in together and "ddp" in options.ways:
                overlap(console, worlds, options.rounds)
        if "overhead" in chosen:
            with opened([BenchWorld("tcp", 1, folder)]) as alone:
                overhead(console, alone, options.rounds)
    return 0


def turns(
    worlds: list[BenchWorld], model: str, hows: list[str], pairs: int, seconds: float = TURN
) -> dict[tuple[str, str], list[float]]:
    """Seconds of a step for each world and each way, taken in turns."""
    runs = [(world, how) for world in worlds for how in hows]
    found = filling(runs, pairs, seconds, lambda run, repeats: run[0].tell(f"{model} {run[1]} {repeats}"))
    return {(w.name, how): times for (w, how), times in zip(runs, found, strict=True)}


WAYS = {"ddp": "DDP", "fsdp": "FullyShardedDataParallel", "rows": "fully_shard"}


def beside_torch(
    console: Console, worlds: list[BenchWorld], models: list[str], pairs: int, way: str
) -> Table:
    ranks = worlds[0].size
    table = page.table(
        "model", "transport", "step", "samples/s", "samples/s of torch + gloo", "ratio",
        left=["model", "transport"], title=f"{WAYS[way]}, {ranks} ranks, medians of {pairs} turns",
    )  # fmt: skip
    for model in models:
        times = turns(worlds, model, [way], pairs)
        peer = times.get((PEER, way))
        for world in worlds:
            if world.name == PEER:
                continue
            own = times[world.name, way]
            middle = statistics.median(own)
            row = [model, world.name, duration(middle), f"{BATCHES[model] * ranks / middle:.0f}"]
            if peer:
                row += [f"{BATCHES[model] * ranks / statistics.median(peer):.0f}", f"{ratio(peer, own):.2f}"]
            table.add_row(*row)
    console.print(page.fitting(table, console))
    return table


def overlap(console: Console, worlds: list[BenchWorld], pairs: int) -> None:
    """Buckets that are sent beside the computing, against one bucket at the end."""
    times = turns(worlds, "wide", ["ddp", "whole"], pairs)
    for world in worlds:
        beside, after = times[world.name, "ddp"], times[world.name, "whole"]
        console.print(
            f"64 MB of gradients over {world.name}: {duration(statistics.median(beside))} in buckets, "
            f"{duration(statistics.median(after))} in one; overlap makes it "
            f"{ratio(after, beside):.2f} times as fast"
        )


def overhead(console: Console, alone: list[BenchWorld], pairs: int) -> None:
    """One rank with DDP and without, in turns of a step or two: the difference is small."""
    for model in ("convnet", "mlp"):
        times = turns(alone, model, ["ddp", "plain"], 8 * pairs, seconds=0.02)
        more = ratio(times["tcp", "ddp"], times["tcp", "plain"]) - 1
        plain = statistics.median(times["tcp", "plain"])
        console.print(f"{model} on one rank: {duration(plain)} a step, DDP adds {100 * more:.1f} %")
