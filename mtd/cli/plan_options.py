"""The options of `mtd plan`, and the words in them: stragglers, spans, failures."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

from mtd.cli.parser import Parser
from mtd.planning import clusters, model_files, reasons
from mtd.planning.clusters import GpuCluster
from mtd.planning.saved_plans import SHOWN
from transports.clock import PICO
from transports.quantities import span

CACHE = ".mtd-plan.json"
LONG = {"h": 3600, "d": 86400}  # units of failures, in seconds


def add(parser: Parser) -> None:
    """Let the parser of the command know them."""
    parser.takes(f"""
        model MODEL                            a file of a few lines (mine.toml), or one of {", ".join(model_files.known())}
        --gpus GPUS!: int                      how many
        --device DEVICE = h100                 their kind (%(default)s)
        --net NET = nvlink8+400G               nodes of 8 over NVLink, 400 Gb/s a GPU between them \
                                               (%(default)s), or a network as mtd simulate takes it
        --algorithm ALGORITHM                  how collectives are carried out: ring, or a file of yours, mine.py (the cheapest)
        --batch BATCH: int                     sequences in a step (the model's)
        --top SHARE: float                     of the peak that products reach (the device's own; 1 is the roofline)
        --simulate N: positive = {SHOWN}            at most so many of the layouts that can be the fastest (%(default)s)
        --slower-link TIMES: float = 1.0       links between nodes are slower by this factor
        --straggler RANK:SPEED...              13:0.8 lets rank 13 compute at 0.8 of the speed
        --mtbf SPAN                            mean time between failures of the whole, like 3h
        --saving SAVING = 60s                  what writing a checkpoint takes (%(default)s)
        --restart RESTART = 300s               what a restart takes (%(default)s)
        --against FILE                         a plan that --json wrote, to compare with
        --layout WORDS                         how fast is this one? "fsdp=8 tp=2 micro=4 recompute=full"
        --json [FILE]                          for programs; - or nothing is the terminal
        --page FILE                            write a page: the table, and a step by the fastest layout \
                                               with its memory and its critical path
        --cache CACHE = {CACHE}                where simulated layouts are kept (%(default)s)
        --jobs N: positive = {os.cpu_count() or 1}  so many layouts at once (%(default)s: one for each core)
    """)
    parser.needs("--saving", "--mtbf")
    parser.needs("--restart", "--mtbf")
    parser.excludes("--json", "--against")
    parser.excludes("--layout", "--against", "--page", "--mtbf")
    parser.set_defaults(epilog="mtd plan llama3-70b --gpus 256 --device h100 --net nvlink8+400G")


def cluster(options: argparse.Namespace) -> GpuCluster:
    """The GPUs that are asked for. ValueError for any word that is wrong."""
    found = clusters.cluster(
        options.device,
        options.gpus,
        options.net,
        options.slower_link,
        _stragglers(options.straggler),
        **({} if options.top is None else {"top": options.top}),
    )
    found.device.peak_of("bfloat16")
    return found


def _stragglers(texts: Sequence[str]) -> dict[int, float]:
    found: dict[int, float] = {}
    for text in texts:
        rank, _, speed = text.partition(":")
        try:
            number, factor = int(rank), float(speed)
        except ValueError:
            raise ValueError(f"--straggler is like 13:0.8, not {text!r}") from None
        if number in found:
            raise ValueError(f"--straggler names rank {rank} twice")
        found[number] = factor
    return found


def failures(options: argparse.Namespace) -> reasons.Failures | None:
    """The cost of failures; None where nobody asks."""
    saving, restart = (_seconds(name, getattr(options, name)) for name in ("saving", "restart"))
    if options.mtbf is None:
        return None
    return reasons.with_failures(_seconds("mtbf", options.mtbf), saving, restart)


def _seconds(option: str, text: str) -> float:
    if text[-1:] in LONG:
        try:
            return float(text[:-1]) * LONG[text[-1]]
        except ValueError:
            raise ValueError(f"--{option} is like 3h or 90s, not {text!r}") from None
    try:
        return span(text) / PICO
    except ValueError as error:
        raise ValueError(f"--{option}: {error}") from None
