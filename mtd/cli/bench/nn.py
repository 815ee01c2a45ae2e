"""Time the steps of `steps`, ours and torch's in alternation, one thread each.

The two take turns within one process, so that a noisy machine hits both. The result is the median of the
ratios of neighbours. Memory is the peak of a fresh process each, once as it stands and once beyond what
importing took.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import statistics
import subprocess
import sys
from time import perf_counter
from typing import Any

from mtd.cli import page
from mtd.cli.bench import record
from mtd.cli.bench.steps import STEPS
from mtd.cli.bench.turns import TimedRow, filling, in_a_process, peak_memory, timed

MEMORY_STEP, MEMORY_LIMIT = "resnet50", 1.3
IMPORT_LIMIT = 0.3
TURN = 0.1  # seconds
HEAD = "training step", "here", "torch", "ratio", "middle half", "reach"
OURS, PEER = "minitorch_dist", "torch"
USAGE = f"""
    --only {{{",".join(STEPS)}}}...  only this step (may be given again)
    --rounds|--pairs N: int = 15  turns of both (%(default)s)
    --no-memory              without what it takes to import, and to hold ResNet50
    {record.OPTION}
"""


def run(options: argparse.Namespace) -> int:
    sides = [OURS]
    if importlib.util.find_spec(PEER) is None:
        page.Page().say("torch is not here, so there is nothing to compare with: pip install torch==2.13.0")
    else:
        sides = [PEER, OURS]
    title = f"milliseconds per step, one thread each, medians of {options.rounds} pairs"
    table = page.table(*HEAD, left=HEAD[:1], title=title)
    table.columns[0].no_wrap = True
    for name in options.only or STEPS:
        rounds = max(3, options.rounds // 2) if name == "resnet50" else options.rounds
        table.add_row(*cells(measured(name, sides, rounds)))
    page.show(table)
    record.keep(options.out, "nn", record.rows_of(table))
    if not options.no_memory:
        _report_memory(PEER in sides)
    return 0


def load(name: str) -> Any:
    t = importlib.import_module(name)
    if name == PEER:
        t.set_num_threads(1)
    t.manual_seed(0)
    return t


def measured(name: str, sides: list[str], rounds: int) -> TimedRow:
    steps = {side: STEPS[name][0](load(side)) for side in sides}
    for step in steps.values():
        timed(step, 3)  # a warm-up
    return TimedRow(name, filling(sides, rounds, TURN, lambda side, many: timed(steps[side], many), most=500))


def cells(row: TimedRow) -> list[str]:
    _, limit, title = STEPS[row.name]
    found = [title, milliseconds(row.median(OURS))]
    if PEER in row.times:
        ratios = sorted(a / b for a, b in zip(row.times[OURS], row.times[PEER], strict=True))
        ratio, quarter = statistics.median(ratios), len(ratios) // 4
        sign = "[green]✔[/]" if ratio <= limit else "[red]✘[/]"
        middle = f"{ratios[quarter]:.2f}–{ratios[-1 - quarter]:.2f}"
        found += [milliseconds(row.median(PEER)), f"{ratio:.2f}", middle, f"{limit} {sign}"]
    return found


def milliseconds(seconds: float) -> str:
    return f"{1e3 * seconds:.3f}" if seconds < 1e-3 else f"{1e3 * seconds:.1f}"


def verdict(value: float, limit: float) -> tuple[str, str]:
    return ("reached", "green") if value <= limit else ("missed", "red")


def memory(library: str) -> tuple[float, float]:
    """Peak megabytes of a fresh process that runs the step, and how much of them importing took."""
    imported, peak = in_a_process(f"from mtd.cli.bench import nn; nn.measure_memory({library!r})")
    return peak, imported


def measure_memory(library: str) -> None:
    """In that process."""
    t = load(library)
    print(peak_memory())
    timed(STEPS[MEMORY_STEP][0](t), 3)
    print(peak_memory())


def import_seconds(pairs: int = 7) -> float:
    """How much longer `import minitorch_dist` takes than `import numpy`: median of pairs."""

    def seconds(module: str) -> float:
        start = perf_counter()
        subprocess.run([sys.executable, "-c", f"import {module}"], check=True)
        return perf_counter() - start

    seconds(OURS)
    return statistics.median(seconds(OURS) - seconds("numpy") for _ in range(pairs))


def _report_memory(with_torch: bool) -> None:
    screen = page.Page()
    here, import_here = memory(OURS)
    line = f"peak memory of {STEPS[MEMORY_STEP][2]}: {here:.0f} MB ({here - import_here:.0f} beyond imports)"
    if with_torch:
        there, import_there = memory(PEER)
        total, net = here / there, (here - import_here) / (there - import_there)
        line += f"; torch {there:.0f} MB ({there - import_there:.0f}); ratio {total:.2f} ({net:.2f} beyond imports)"
        screen.tell(f"{line}, to reach ≤ {MEMORY_LIMIT}: ", verdict(max(total, net), MEMORY_LIMIT))
    else:
        screen.say(line)
    seconds = import_seconds()
    said = verdict(seconds, IMPORT_LIMIT)
    screen.tell(f"import: {seconds:.3f} s beyond numpy's, to reach ≤ {IMPORT_LIMIT}: ", said)
