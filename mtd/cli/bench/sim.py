"""`mtd bench sim`: how fast virtual time passes, beside its targets.

Seconds are those of the processor, so that others who use the machine do not count. Each line says what
it aims at. Where SimGrid's module for Python is installed, the same ring is run by its actors.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from minitorch_dist import sim
from minitorch_dist.distributed import collectives, world
from minitorch_dist.distributed.prepared import How
from minitorch_dist.distributed.schedules.choice import named
from mtd import estimates
from mtd.cli import page
from mtd.cli.bench import record
from mtd.cli.bench.turns import in_a_process
from transports.errors import Deadlock
from transports.sim import SimTransport
from transports.simulation import each_rank
from transports.stores.store import HashStore
from transports.virtual import medium
from transports.virtual.clock import VirtualClock, has_greenlets
from transports.virtual.network import Network
from transports.virtual.topology import uniform


class BenchRow(NamedTuple):
    what: str
    found: float
    target: float | None  # None: only to be seen beside others
    unit: str
    is_rate: bool = False  # more is better

    @property
    def holds(self) -> bool:
        if self.target is None:
            return True
        return self.found >= self.target if self.is_rate else self.found <= self.target

    @property
    def aim(self) -> str:
        return f"{'≥' if self.is_rate else '≤'} {self.target:,} {self.unit}"


def seconds(function: Callable[[], object]) -> float:
    begin = time.process_time()
    function()
    return time.process_time() - begin


class ByteRank(bytearray):
    """A rank that moves bytes, which is its own inbox and sink: it counts the messages of each sender."""

    write = bytearray.extend

    def __init__(self, rank: int, size: int, clock: VirtualClock, store: HashStore) -> None:
        super().__init__()
        self.rank, self.size, self.came = rank, size, [0] * size
        self.transport = SimTransport(rank, size, clock=clock)
        self.transport.connect(store, self)

    def sink(self, src: int, header: bytes, nbytes: int) -> ByteRank:
        self.came[src] += 1
        return self

    def lost(self, src: int, reason: Exception) -> None: ...
    def space(self) -> None: ...
    def advance(self, nbytes: int) -> None: ...

    def receive(self, src: int) -> None:
        """Wait for one more message from `src`."""
        while not self.came[src]:
            self.transport.progress(None, lambda: self.came[src] > 0)
        self.came[src] -= 1


def run_nodes(program: Callable[[ByteRank], None], ranks: int, engine: str | None = None) -> int:
    """How many messages the ranks have sent."""
    clock, net = VirtualClock(engine=engine), Network(uniform("5us", "100Gb/s"))
    moving, store = medium.attach(clock, net), HashStore(clock)

    def live(rank: int) -> None:
        node = ByteRank(rank, ranks, clock, store)
        program(node)
        node.transport.close()

    each_rank(clock, ranks, live)
    return sum(moving.count(rank).messages_sent for rank in range(ranks))


def ring_of_bytes(rounds: int) -> Callable[[ByteRank], None]:
    """The messages of a ring all_reduce in so many rounds, without values."""

    def program(node: ByteRank) -> None:
        right, left = (node.rank + 1) % node.size, (node.rank - 1) % node.size
        chunk = bytes(64)
        for _ in range(rounds):
            node.transport.send(right, b"", chunk)
            node.receive(left)

    return program


def all_reduces(sizes: list[int], algorithm: str | None = None) -> None:
    group = world.current().default_group
    for size in sizes:
        collectives.all_reduce(group, np.ones(size, np.float32), how=How(algorithm))


def nothing() -> None:
    pass


def rate(engine: str, ranks: int, rounds: int) -> float:
    """Messages a second between ranks that move bytes, with ports, counters and digest."""
    messages: list[int] = []
    taken = seconds(lambda: messages.append(run_nodes(ring_of_bytes(rounds), ranks, engine)))
    return messages[0] / taken


def full_rate(engine: str, ranks: int, turns: int) -> float:
    """The same through all_reduce: matching, fingerprints and additions."""
    found: list[sim.Report[None]] = []
    program = partial(sim.run, all_reduces, ranks, ([4 * ranks] * turns, "ring"), engine=engine)
    taken = seconds(lambda: found.append(program()))
    return found[0].messages / taken


def light_rate(ranks: int) -> float:
    """Messages without bytes a second, with ports, counters and digest: those of a ring."""
    ring, net = named("all_reduce", "ring"), Network(uniform("5us", "100Gb/s"))
    taken = seconds(lambda: estimates.message_by_message(ring, ranks, 400 * ranks, net, 0))
    return 2 * ranks * (ranks - 1) / taken


def deadlock(ranks: int) -> float:
    """Seconds from the moment when everybody waits until the report is there."""
    begin = [0.0]

    def program(node: ByteRank) -> None:
        begin[0] = time.process_time()
        node.receive((node.rank + 1) % ranks)

    try:
        run_nodes(program, ranks)
    except Deadlock:
        return time.process_time() - begin[0]
    raise AssertionError("nobody noticed the deadlock")


SYSTEM_PYTHON = "/usr/bin/python3"  # Debian's python3-simgrid is for this one
MANY_RANKS = "sim.run(all_reduces, 100_000, ([100],))"
IDLE_RANKS = "sim.run(lambda: sim.compute('1s'), 10_000)"  # all of them sleep at the same time
BUCKETS = [1000, 400, 2500, 2500, 2500, 2500, 2500, 2500, 1200, 600]  # elements


def rows(is_long: bool) -> Iterator[BenchRow]:
    """Each is measured when it is asked for."""
    ring, net = named("all_reduce", "ring"), uniform("5us", "100Gb/s")
    greenlet = "greenlet" if has_greenlets() else "threads"
    short = statistics.median(seconds(lambda: sim.run(nothing, 8)) for _ in range(20))
    yield BenchRow("a world of 8 starts and ends", 1000 * short, 3, "ms")
    paper = seconds(lambda: estimates.time_of(ring, 10_000, 40_000_000, net))
    yield BenchRow("ring all_reduce, 10,000 ranks, lockstep", paper, 1, "s")
    for engine, rounds, least in ((greenlet, 504, 250_000), ("threads", 252, 50_000)):
        what = f"messages, {engine}, 64 ranks"
        yield BenchRow(what, rate(engine, 64, rounds), least, "/s", True)
    what = f"messages within all_reduce, {greenlet}, 64 ranks"
    yield BenchRow(what, full_rate(greenlet, 64, 4), 50_000, "/s", True)
    yield BenchRow("messages without bytes, 256 ranks", light_rate(256), 300_000, "/s", True)
    yield BenchRow("a deadlock of 64 ranks is told", 1000 * deadlock(64), 50, "ms")
    whole = seconds(lambda: sim.run(all_reduces, 1024, (BUCKETS,)))
    yield BenchRow("ten all_reduces, 1,024 ranks run", whole, 1, "s")
    yield from beside(64, 126)
    if not is_long:
        return
    yield BenchRow(f"messages, {greenlet}, 1,024 ranks", rate(greenlet, 1024, 64), None, "/s")
    yield from beside(1024, 64)
    small = [n // 10 for n in BUCKETS]
    whole = seconds(lambda: sim.run(all_reduces, 10_000, (small,)))
    yield BenchRow("ten all_reduces, 10,000 ranks run", whole, 20, "s")
    whole = seconds(lambda: sim.run(all_reduces, 1024, ([1024], "ring"), engine="threads"))
    yield BenchRow("ring all_reduce, 1,024 ranks on threads", whole, 30, "s")
    taken, memory = alone(MANY_RANKS)
    yield BenchRow("an all_reduce, 100,000 ranks run", taken, 30, "s")
    yield BenchRow("memory of that", memory, 2000, "MB")
    yield BenchRow("memory of 10,000 idle ranks", alone(IDLE_RANKS)[1], 600, "MB")


def beside(ranks: int, rounds: int) -> Iterator[BenchRow]:
    """The same work in SimGrid, if it is here."""
    found = simgrid_rate(ranks, rounds)
    if found is not None:
        yield BenchRow(f"messages, SimGrid's actors (Python), {ranks:,} ranks", found, None, "/s")


def simgrid_rate(ranks: int, rounds: int) -> float | None:
    """Messages a second of SimGrid's actors; None where its module cannot be imported."""
    worker = Path(__file__).with_name("simgrid.py")
    for python in (sys.executable, SYSTEM_PYTHON):
        if Path(python).exists():
            command = [python, str(worker), str(ranks), str(rounds)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode == 0:
                return float(done.stdout)
    return None


def alone(statement: str) -> list[float]:
    """Seconds of the processor that a statement takes in a fresh process, and MB at the process's peak."""
    return in_a_process(
        "from mtd.cli.bench.turns import peak_memory; from mtd.cli.bench.sim import all_reduces, seconds, sim;"
        f"print(seconds(lambda: {statement}), peak_memory())"
    )


USAGE = f"--long  with what takes minutes\n{record.OPTION}"


def run(options: argparse.Namespace) -> int:
    table = page.table("", "found", "target", "holds")
    holds = True
    for found in rows(options.long):
        holds = holds and found.holds
        reached = f"{found.found:,.3g}" if found.found < 1000 else f"{found.found:,.0f}"
        aim = () if found.target is None else (found.aim, "✓" if found.holds else "✗")
        table.add_row(found.what, f"{reached} {found.unit}", *aim)
    page.show(table)
    record.keep(options.out, "sim", record.rows_of(table))
    return 0 if holds else 1
