"""`mtd bench journal`: what a journal costs, where nobody keeps one and where somebody does.

Switched off it is a check at `Mailbox.recorder` wherever something happens. A special mailbox counts these
checks, and one check is timed by itself. The reason: timing operations could not tell a difference of a
percent from noise. Switched on, runs take turns with and without.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from timeit import repeat
from typing import Any

import numpy as np
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from minitorch_dist.distributed import collectives, point_to_point, world
from minitorch_dist.distributed.journal import files
from minitorch_dist.distributed.journal.recording import RankRecorder
from minitorch_dist.distributed.mail.mailbox import Mailbox
from minitorch_dist.launching import launch
from mtd.cli import page
from transports import keeper

TIMES = 2000
LIMIT = 0.01


def to_oneself() -> None:
    """The whole path of a message and no wire: nothing makes the checks a smaller part."""
    group = world.current().default_group
    array, out = np.zeros(2), np.zeros(2)
    work = point_to_point.irecv(group, out, group.rank())
    point_to_point.isend(group, array, group.rank())
    work.wait()


def sum_of_8_bytes() -> None:
    collectives.all_reduce(world.current().default_group, np.zeros(1))


def sum_of_1_mb() -> None:
    collectives.all_reduce(world.current().default_group, np.zeros(1 << 17))


CASES: dict[str, tuple[Callable[[], None], int, int]] = {
    "message to oneself, 16 B": (to_oneself, 1, TIMES),
    "all_reduce, 8 B, 2 ranks": (sum_of_8_bytes, 2, TIMES // 4),
    "all_reduce, 1 MB, 2 ranks": (sum_of_1_mb, 2, TIMES // 20),
}


class CountingMailbox(Mailbox):
    checks = 0

    @property
    def recorder(self) -> None:
        CountingMailbox.checks += 1

    @recorder.setter
    def recorder(self, value: Any) -> None:
        pass


def checks_of(case: Callable[[], None]) -> float:
    """Per operation and rank."""
    mailbox = world.current().mailbox
    kind, mailbox.__class__ = mailbox.__class__, CountingMailbox
    before = CountingMailbox.checks
    for _ in range(20):
        case()
    mailbox.__class__ = kind
    return (CountingMailbox.checks - before) / 20


def seconds_of(case: Callable[[], None], times: int) -> float:
    start = perf_counter()
    for _ in range(times):
        case()
    return (perf_counter() - start) / times


def measure(case: Callable[[], None], times: int, path: str, rounds: int) -> list[Any]:
    """On each rank: checks per operation, and pairs of seconds per operation, off and on."""
    here = world.current()
    sheet = files.Sheet(Path(f"{path}.{here.rank}"))
    recorder = RankRecorder(here.transport, "1", sheet, is_shared=False)
    seconds_of(case, times // 10)
    pairs = []
    for _ in range(rounds):
        off = seconds_of(case, times)
        collectives.barrier(here.default_group)
        here.mailbox.recorder = recorder
        on = seconds_of(case, times)
        here.mailbox.recorder = None
        collectives.barrier(here.default_group)
        pairs.append((off, on))
    recorder.close()
    return [checks_of(case) if here.world_size == 1 else 0.0, pairs]


class Holder:
    recorder: Any = None


def seconds_per_check() -> float:
    """Reading the attribute and comparing it, less an empty loop."""
    holder = {"holder": Holder()}
    checks = "\n".join(["holder.recorder is not None"] * 50)
    return max(min(repeat(checks, globals=holder, number=20_000, repeat=7)) / 1e6, 1e-10)


def main() -> int:
    parser = argparse.ArgumentParser(prog="mtd bench journal")
    parser.add_argument("--rounds", type=int, default=9, help="pairs of runs (%(default)s)")
    options = parser.parse_args()
    check = seconds_per_check()
    table = Table(title=f"one check: {check * 1e9:.1f} ns; medians of {options.rounds}", box=SIMPLE)
    for heading in ("operation", "µs, off", "checks", "their part", "µs, on", "ratio"):
        table.add_column(heading, justify="left" if heading == "operation" else "right")
    with keeper.temporary_folder("mtd-") as folder:
        for name, (case, size, times) in CASES.items():
            # Threads take turns within one operation, so checks are counted where there is one rank.
            found = launch(
                measure, size, args=(case, times, f"{folder}/run", options.rounds), journal=""
            )
            checks = found[0][0] or sum(launch(_counted, size, args=(case,), journal="")) / size
            pairs = found[0][1]
            off, on = (statistics.median(pair[i] for pair in pairs) for i in (0, 1))
            ratio = statistics.median(b / a for a, b in pairs)
            part = checks * check / off
            sign = "[green]✔[/]" if part <= LIMIT else "[red]✘[/]"
            table.add_row(
                name, f"{off * 1e6:.1f}", f"{checks:.0f}", f"{part:.2%} {sign}", f"{on * 1e6:.1f}",
                f"{ratio:.2f}",
            )  # fmt: skip
    console = Console(highlight=False)
    console.print(page.fitting(table, console))
    return 0


def _counted(case: Callable[[], None]) -> float:
    """All ranks of this process count together: a share for each."""
    return checks_of(case) / world.current().world_size


if __name__ == "__main__":
    sys.exit(main())
