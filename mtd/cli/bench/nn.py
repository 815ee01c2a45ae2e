"""Time the steps of `steps`, ours and torch's in alternation, one thread each.

The two take turns within one process, so that a noisy machine hits both. The result is the median of the
ratios of neighbours. Memory is the peak of a fresh process each, once as it stands and once beyond what
importing took.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import re
import resource
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from mtd.cli import page
from mtd.cli.bench import record
from mtd.cli.bench.program_steps import Step
from mtd.cli.bench.steps import STEPS
from mtd.cli.bench.turns import taking_turns, timed
from mtd.cli.parser import Parser

MEMORY_STEP, MEMORY_LIMIT = "resnet50", 1.3
IMPORT_LIMIT = 0.3


def load(name: str) -> Any:
    t = importlib.import_module(name)
    if name == "torch":
        t.set_num_threads(1)
    t.manual_seed(0)
    return t


def repeats(step: Step) -> int:
    """How many steps fill about 0.1 s, after a warm-up."""
    for _ in range(3):
        step()
    return max(1, min(500, int(0.1 / max(timed(step, 2), 1e-6))))


def alternate(steps: Sequence[Step], pairs: int) -> list[list[float]]:
    """Seconds per step of each, in turns; the order flips each time."""
    repeat = min(map(repeats, steps))
    return taking_turns(steps, pairs, lambda step: timed(step, repeat))


def peak_memory(library: str, step: str) -> tuple[float, float]:
    """Peak resident megabytes of a process that runs the step, and how much importing took."""
    done = subprocess.run(
        [sys.executable, "-m", "mtd.cli.bench", "nn", "--measure", library, step],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    peak, imported = json.loads(done.stdout)
    return peak, imported


def measure(library: str, step: str) -> None:
    """The child of `peak_memory`."""
    t = load(library)
    imported = resident_peak()
    run = STEPS[step][0](t)
    for _ in range(3):
        run()
    print(json.dumps([resident_peak(), imported]))


def resident_peak() -> float:
    """The most megabytes this process has had in memory.

    Linux's own count starts anew with each program; that of getrusage begins with the parent's.
    """
    status = Path("/proc/self/status")
    if status.exists():
        return int(re.findall(r"VmHWM:\s+(\d+) kB", status.read_text())[0]) / 2**10
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def import_seconds(pairs: int = 7) -> float:
    """How much longer `import minitorch_dist` takes than `import numpy`: median of pairs."""

    def seconds(module: str) -> float:
        start = perf_counter()
        subprocess.run([sys.executable, "-c", f"import {module}"], check=True)
        return perf_counter() - start

    seconds("minitorch_dist")
    return statistics.median(seconds("minitorch_dist") - seconds("numpy") for _ in range(pairs))


def milliseconds(seconds: list[float]) -> str:
    median = statistics.median(seconds) * 1e3
    return f"{median:.3f}" if median < 1 else f"{median:.1f}"


def verdict(value: float, limit: float) -> str:
    return "[green]reached[/]" if value <= limit else "[red]missed[/]"


def main() -> int:
    parser = Parser(prog="mtd bench nn")
    parser.takes(f"""
        --only STEP...           only this step (may be given again)
        --rounds|--pairs N: int = 15  turns of both (%(default)s)
        --no-memory              without what it takes to import, and to hold ResNet50
        {record.OPTION}
    """)
    parser.add_argument("--measure", nargs=2, metavar=("LIBRARY", "STEP"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(*options.measure)
        return 0
    unknown = [name for name in options.only if name not in STEPS]
    if unknown:
        parser.error(f"no step {unknown[0]!r}; there are {', '.join(STEPS)}")
    with_torch = importlib.util.find_spec("torch") is not None
    console = Console(highlight=False)
    ours, torch = load("minitorch_dist"), load("torch") if with_torch else None
    if torch is None:
        console.print(
            "torch is not installed, so there is nothing to compare with: pip install torch==2.13.0"
        )
    title = f"milliseconds per step, one thread each, medians of {options.rounds} pairs"
    table = Table(title=title, box=SIMPLE)
    table.add_column("training step", no_wrap=True)
    for heading in ("here", "torch", "ratio", "middle half", "reach"):
        table.add_column(heading, justify="right")
    for name in options.only or STEPS:
        build, limit, title = STEPS[name]
        pairs = options.rounds if name != "resnet50" else max(3, options.rounds // 2)
        *theirs, mine = alternate([build(t) for t in (torch, ours) if t is not None], pairs)
        row = [title, milliseconds(mine)]
        if theirs:
            ratios = sorted(a / b for a, b in zip(mine, theirs[0], strict=True))
            ratio, quarter = statistics.median(ratios), len(ratios) // 4
            sign = "[green]✔[/]" if ratio <= limit else "[red]✘[/]"
            row += [milliseconds(theirs[0]), f"{ratio:.2f}",
                    f"{ratios[quarter]:.2f}–{ratios[-1 - quarter]:.2f}", f"{limit} {sign}"]  # fmt: skip
        table.add_row(*row)
    console.print(page.fitting(table, console))
    record.keep(options.out, "nn", record.rows_of(table))
    if not options.no_memory:
        _report_memory(console, with_torch)
    return 0


def _report_memory(console: Console, with_torch: bool) -> None:
    here, import_here = peak_memory("minitorch_dist", MEMORY_STEP)
    line = f"peak memory of {STEPS[MEMORY_STEP][2]}: {here:.0f} MB ({here - import_here:.0f} beyond imports)"
    if with_torch:
        there, import_there = peak_memory("torch", MEMORY_STEP)
        total, net = here / there, (here - import_here) / (there - import_there)
        line += (
            f"; torch {there:.0f} MB ({there - import_there:.0f}); ratio {total:.2f} "
            f"({net:.2f} beyond imports), to reach ≤ {MEMORY_LIMIT}: {verdict(max(total, net), MEMORY_LIMIT)}"
        )
    console.print(line)
    seconds = import_seconds()
    console.print(
        f"import: {seconds:.3f} s beyond numpy's, to reach ≤ {IMPORT_LIMIT}: {verdict(seconds, IMPORT_LIMIT)}"
    )
