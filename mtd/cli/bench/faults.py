"""`mtd bench faults`: how fast a program is explored, and how soon a deadlock is told.

explore    seeds of an 8-rank test under chaos: four all_reduces, 96 messages, of each seed its own
           order, delays, waiting sends and up to three faults; beside it the same runs without any
deadlock   64 ranks in one circle: from the moment nobody can go on until the words are there
exhaust    schedules of a server with clients, each once
"""

from __future__ import annotations

import argparse
import sys
from time import perf_counter

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

import minitorch_dist as torch
from minitorch_dist import distributed as dist, sim
from mtd.cli import page
from transports.virtual.clock import VirtualClock

RANKS = 8


def train() -> None:
    x = torch.full((100,), float(dist.get_rank() + 1))
    for _ in range(4):
        sim.compute("1ms")
        dist.all_reduce(x, op=dist.ReduceOp.AVG)
    assert abs(float(x[0].item()) - 4.5) < 1e-5


def circle() -> None:
    dist.recv(torch.zeros(1), (dist.get_rank() + 1) % dist.get_world_size())


def collect() -> None:
    if dist.get_rank():
        dist.send(torch.ones(1), 0)
    else:
        for _ in range(dist.get_world_size() - 1):
            dist.recv(torch.zeros(1))


def explored(seeds: int) -> tuple[float, float]:
    """Seconds for that many seeds, with hardships and faults, and without."""
    begun = perf_counter()
    found = sim.survey(train, RANKS, range(1, seeds + 1))
    assert found.failure is None, found.failure
    hard = perf_counter() - begun
    begun = perf_counter()
    for seed in range(seeds):
        sim.run(train, RANKS, seed=seed)
    return hard, perf_counter() - begun


def told() -> float:
    """Seconds that 64 ranks wait for the words, after nobody could go on."""
    spans: list[float] = []
    stuck = VirtualClock._stuck

    def timed(clock: VirtualClock) -> None:
        begun = perf_counter()
        stuck(clock)
        spans.append(perf_counter() - begun)

    setattr(VirtualClock, "_stuck", timed)  # noqa: B010 - for the time of one run
    try:
        sim.run(circle, 64)
    except sim.Deadlock:
        return spans[0]
    finally:
        setattr(VirtualClock, "_stuck", stuck)  # noqa: B010 - and back
    raise AssertionError("a circle is a deadlock")


def main() -> int:
    parser = argparse.ArgumentParser(prog="mtd bench faults")
    parser.add_argument("--seeds", type=int, default=1000)
    options = parser.parse_args()
    table = Table("what", "took", "that is", box=SIMPLE)
    hard, calm = explored(options.seeds)
    each = hard / options.seeds * 1e3
    table.add_row(
        f"explore {options.seeds} seeds, {RANKS} ranks", f"{hard:.2f} s", f"{each:.1f} ms a run"
    )
    table.add_row("the same without faults", f"{calm:.2f} s", f"{hard / calm:.2f} times as fast")
    table.add_row(
        "a deadlock of 64 ranks", f"{min(told() for _ in range(5)) * 1e3:.1f} ms", "to the words"
    )
    begun = perf_counter()
    found = sim.exhaust(collect, 6)
    span = perf_counter() - begun
    table.add_row(
        f"{found.runs} schedules of 6 ranks",
        f"{span:.2f} s",
        f"{span / found.runs * 1e3:.1f} ms each",
    )
    console = Console()
    console.print(page.fitting(table, console))
    return 0


if __name__ == "__main__":
    sys.exit(main())
