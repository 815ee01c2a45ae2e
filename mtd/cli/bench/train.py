"""`mtd bench train`: DDP and FSDP over each transport, beside torch's over gloo.

All worlds are alive at the same time and take turns, one short measurement each, so that a noisy
machine hits all of them; a ratio is the median of the ratios of neighbours. It answers three questions. How
many samples per second are there beside torch? How much time does sending beside the computing save? What
does DDP cost on one rank, where there is no peer?
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from mtd.cli import page
from mtd.cli.bench import record
from mtd.cli.bench.steps import BATCHES
from mtd.cli.bench.turns import TimedRow
from mtd.cli.bench.worlds import PEER, BenchWorld, measured, missing, opened
from transports import keeper

TURN = 0.3  # seconds that one measurement takes
WAYS = {"ddp": "DDP", "fsdp": "FullyShardedDataParallel", "rows": "fully_shard"}
HEAD = "model", "transport", "step", "samples/s", "samples/s of torch + gloo", "ratio"
USAGE = f"""
    --only {{{",".join([*BATCHES, "overhead"])}}}...  only this model, or what DDP costs on one rank (repeatable)
    --ways {{{",".join(WAYS)}}}: words = {",".join(WAYS)}  of ddp, fsdp, rows (fully_shard); all by default
    --rounds|--pairs N: int = 9                       turns of each world (%(default)s)
    --ranks RANKS: int = 2                            how many (%(default)s)
    --net|--transports NET: words = tcp,file          over which wires (%(default)s)
    {record.OPTION}
"""


def run(options: argparse.Namespace) -> int:
    chosen = options.only or [*BATCHES, "overhead"]
    models = [model for model in chosen if model != "overhead"]
    names = [*options.net, *([] if missing(PEER) else [PEER])] if models else []
    with keeper.temporary_folder("mtd-") as folder:
        with opened(BenchWorld(name, options.ranks, folder) for name in names) as worlds:
            for way in options.ways if models else ():
                beside_torch(worlds, models, way, options)
            if "wide" in models and "ddp" in options.ways:
                overlap(worlds, options.rounds)
        if "overhead" in chosen:
            with opened([BenchWorld("tcp", 1, folder)]) as alone:
                overhead(alone, options.rounds)
    return 0


def turns(worlds: Sequence[BenchWorld], model: str, hows: Sequence[str], rounds: int, seconds: float) -> TimedRow:
    """A step in each world and each way, such as `tcp ddp`."""
    sides = {f"{world.name} {how}": (world, f"{model} {how}") for world in worlds for how in hows}
    return measured(model, sides, rounds, seconds)


def beside_torch(worlds: list[BenchWorld], models: list[str], way: str, options: argparse.Namespace) -> None:
    ranks, peer = options.ranks, f"{PEER} {way}"
    title = f"{WAYS[way]}, {ranks} ranks, medians of {options.rounds} turns"
    table = page.table(*HEAD, left=HEAD[:2], title=title)
    for model in models:
        row = turns(worlds, model, [way], options.rounds, TURN)
        speed = {side: f"{BATCHES[model] * ranks / row.median(side):.0f}" for side in row.times}
        for side in [side for side in speed if side != peer]:
            cells = [speed[peer], f"{row.ratio(peer, side):.2f}"] if peer in speed else []
            table.add_row(model, side.partition(" ")[0], row.said(side), speed[side], *cells)
    page.show(table)
    rows = record.rows_of(table, names=2)
    record.keep(options.out, "train", {f"{WAYS[way]}, {what}": cells for what, cells in rows.items()})


def overlap(worlds: list[BenchWorld], rounds: int) -> None:
    """Buckets that are sent beside the computing, against one bucket at the end."""
    row = turns(worlds, "wide", ["ddp", "whole"], rounds, TURN)
    for name in [world.name for world in worlds]:
        beside, after = f"{name} ddp", f"{name} whole"
        page.Page().say(
            f"64 MB of gradients over {name}: {row.said(beside)} in buckets, {row.said(after)} in one; overlap makes it "
            f"{row.ratio(after, beside):.2f} times as fast"
        )


def overhead(alone: list[BenchWorld], rounds: int) -> None:
    """One rank with DDP and without, in turns of a step or two: the difference is small."""
    for model in ("convnet", "mlp"):
        row = turns(alone, model, ["ddp", "plain"], 8 * rounds, seconds=0.02)
        more = row.ratio("tcp ddp", "tcp plain") - 1
        page.Page().say(f"{model} on one rank: {row.said('tcp plain')} a step, DDP adds {100 * more:.1f} %")
