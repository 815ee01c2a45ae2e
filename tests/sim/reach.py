"""`mtd bench reach`: how long whole steps of large models take to simulate, and how much memory.

Each runs in a process of its own, as a user would run it: all layers and micro-batches, one rank for all that do the same. The
limits are targets for two cores, with one thread each (`OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1`).
"""

from __future__ import annotations

import multiprocessing
import resource
import sys
import time
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from rich.console import Console

from mtd.cli import page
from mtd.cli.parser import Parser
from mtd.planning import clusters, model_files, search
from mtd.planning.layouts import TrainingLayout
from transports.clock import PICO

MB = 1 << 20


class Target(NamedTuple):
    """A step, and the most that its simulation may take: seconds of processor time, and MB."""

    model: str
    batch: int
    layout: TrainingLayout
    gpus: tuple[str, str]  # their kind, and the network
    seconds: int
    memory: int


H100, A100 = ("h100-sxm", "nvlink8+400G"), ("a100-80", "nvlink8+200G")  # on their networks
INTERLEAVED = partial(TrainingLayout, 8, checkpoint="full", schedule="Interleaved1F1B", stages=2)
TARGETS = {
    "8b": Target("llama3-8b", 256, TrainingLayout(shards=128, micro=2, checkpoint="op"), H100, 30, 1024),
    "70b": Target("llama3-70b", 512, TrainingLayout(8, shards=32, checkpoint="full"), H100, 60, 4096),
    "175b": Target("gpt3-175b", 1536, INTERLEAVED(16, replicas=12), A100, 60, 4096),
    "1t": Target("megatron-1t", 3072, INTERLEAVED(64, replicas=6), A100, 120, 4096),
    "405b": Target("llama3-405b", 2048, TrainingLayout(8, 16, shards=2, replicas=64, checkpoint="op"), H100, 120, 4096),
}


class Reached(NamedTuple):
    step: float  # virtual seconds
    seconds: float  # of the processor
    memory: int  # bytes
    classes: int


def main(arguments: Sequence[str] | None = None) -> int:
    parser = Parser(prog="mtd bench reach")
    parser.takes(f"--only {{{','.join(TARGETS)}}}...  only this step (repeatable); all by default")
    options = parser.parse_args(arguments)
    console = Console(highlight=False)
    table = page.table(
        "model",
        "GPUs",
        "layout",
        "a step",
        "clocks",
        "processor",
        "memory",
        "",
        left=["model", "layout"],
        title="whole steps of large models, simulated",
    )
    holds = True
    context = multiprocessing.get_context("spawn")
    for name in options.only or TARGETS:
        with context.Pool(1) as pool:
            found = pool.apply(reach, (name,))
        target = TARGETS[name]
        is_met = found.seconds <= target.seconds and found.memory <= target.memory * MB
        holds = holds and is_met
        table.add_row(
            target.model,
            f"{target.layout.ranks:,}",
            str(target.layout),
            f"{found.step:.2f} s",
            str(found.classes or "all"),
            f"{found.seconds:.1f} s of {target.seconds}",
            f"{found.memory // MB:,} MB of {target.memory:,}",
            "✓" if is_met else "✗",
        )
    console.print(page.fitting(table, console))
    return 0 if holds else 1


def reach(name: str) -> Reached:
    """Simulate it, in this process."""
    target = TARGETS[name]
    model = model_files.read(target.model).changed(batch=target.batch)
    device, net = target.gpus
    here = clusters.cluster(device, target.layout.ranks, net)
    report = search.whole_step(model, target.layout, here)
    used = resource.getrusage(resource.RUSAGE_SELF)
    spent, memory = time.process_time(), used.ru_maxrss * 1024
    return Reached(report.time / PICO, spent, memory, report.folded.classes)


if __name__ == "__main__":
    sys.exit(main())
