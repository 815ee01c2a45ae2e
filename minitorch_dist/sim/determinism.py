"""Is a run the same when it is repeated? If not: where does it begin to differ?

    sim.check_determinism(train, world_size=8, seed=3)

The program runs twice here, then once in each of two new processes, whose strings have other hashes
(see `elsewhere`). Of each message that is sent and of each computation it is written down when, by
whom, with what (its bytes, too) and from which lines. The first entry that differs is shown from both runs. The
cause of the difference comes shortly before it. Two runs of one process differ by what outlives a run:
counters, caches, files. Processes differ by the order of sets, addresses, process numbers, and by
whatever else `launching.replacements` cannot replace.
"""

from __future__ import annotations

import re
import sys
import warnings
import zlib
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from minitorch_dist.distributed.callsite import OURS
from minitorch_dist.sim import other_processes, runner
from minitorch_dist.sim.stage import SimulationStage
from transports.errors import DistError
from transports.faults.plans import Fault
from transports.quantities import in_words
from transports.virtual.fault_injector import Plan
from transports.virtual.medium import Medium
from transports.virtual.network import Network
from transports.virtual.topology import Topology

DEPTH = 8  # lines of a stack


class NotDeterministic(DistError):
    """Two runs of one program with one seed are not the same. `event` is the first that differs."""

    def __init__(self, words: str, event: int) -> None:
        super().__init__(words)
        self.event = event


class TraceEntry(NamedTuple):
    """Something that happened."""

    at: int
    what: tuple[object, ...]
    stack: tuple[str, ...]

    def __str__(self) -> str:
        kind, *facts = self.what
        if kind == "send":
            src, dst, nbytes, *_ = facts
            words = f"rank {src} sends {nbytes} bytes to rank {dst}"
        elif kind == "compute":
            words = f"rank {facts[0]} computes for {in_words(int(str(facts[1])))}"
        else:
            words = f"{kind} {facts[0]}"
        lines = [f"{words}, at {in_words(self.at)}", *(f"    {line}" for line in self.stack)]
        return "\n".join(lines)


class Witness:
    """Writes down one run."""

    def __init__(self, medium: Medium) -> None:
        self.entries: list[TraceEntry] = []
        self._clock = medium.clock

    def __call__(self, *what: object) -> None:
        facts = tuple(zlib.crc32(fact) if isinstance(fact, bytes) else fact for fact in what)
        self.entries.append(TraceEntry(self._clock.now(), facts, _stack()))


def check_determinism(
    fn: Callable[..., Any],
    world_size: int,
    *,
    seed: int = 0,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    net: Network | Topology | str = "sim://",
    timeout: timedelta | float | None = None,
    faults: Sequence[Fault | str] | Plan = (),
    hardships: str = "",
) -> None:
    """Run `fn` twice here, and in two other processes, and compare all events.

    An error that all runs raise in the same way is no difference, and not raised. A warning says
    why, if `fn` cannot be sent to another process.

    Args:
        fn: The function that every rank calls.
        world_size: How many ranks there are.
        seed: The seed of all runs.
        args: Its positional arguments.
        kwargs: Its keyword arguments.
        net: The network (see `run`).
        timeout: The time limit of every operation.
        faults: Faults of all runs.
        hardships: Letters of `sim.hardship`.

    Raises:
        NotDeterministic: The first event that differs, with its lines.

    Example:
        >>> sim.check_determinism(dist.get_rank, 2)
    """
    if other_processes.is_being_born():
        return  # another process reads the script that we were called from
    how = {"net": net, "seed": seed, "timeout": timeout, "faults": faults, "hardships": hardships}
    _compare([witnessed(fn, world_size, args, kwargs, how) for _ in range(2)], seed, "runs")
    try:
        others = other_processes.call_twice(witnessed, (fn, world_size, args, kwargs, how))
    except other_processes.CannotBeSent as error:
        warnings.warn(
            f"{error}: so no other process ran it, and what differs between processes was not seen",
            RuntimeWarning,
            stacklevel=2,
        )
    else:
        _compare(others, seed, "processes")


def witnessed(
    fn: Callable[..., Any],
    world_size: int,
    args: Sequence[Any],
    kwargs: Mapping[str, Any] | None,
    how: Mapping[str, Any],
) -> list[TraceEntry]:
    """All that happens in one run, and how it ends."""
    witnesses: list[Witness] = []

    def watch(stage: SimulationStage) -> None:
        stage.medium.witness = witness = Witness(stage.medium)
        witnesses.append(witness)

    try:
        report = runner.run(fn, world_size, args, kwargs, prepared=watch, **how)
        end: tuple[str, str] = "returns", _without_addresses(repr(report.results))
    except Exception as error:
        if not witnesses:
            raise
        end = "raises", _without_addresses(repr(error))
    (witness,) = witnesses
    return [*witness.entries, TraceEntry(0, end, ())]


def _compare(runs: Sequence[list[TraceEntry]], seed: int, what: str) -> None:
    first, second = runs
    where = {"runs": "run", "processes": "process"}[what]
    for number, (one, other) in enumerate(zip_longest(first, second)):
        if one is None or other is None or one[:2] != other[:2]:
            raise NotDeterministic(
                f"two {what} with seed {seed} differ, at first in event {number}. In the first {where}\n"
                f"  {one or 'nothing more'}\nand in the second\n  {other or 'nothing more'}\n"
                f"{_alike(one, other)}",
                number,
            )


def _without_addresses(said: str) -> str:
    """`<object at 0x7f…>` says where an object lies, which is no property of the run."""
    return re.sub(r" at 0x[0-9a-f]+", "", said)


def _alike(one: TraceEntry | None, other: TraceEntry | None) -> str:
    """Advice where both events look the same."""
    if one and other and one.what[0] == "send" and one.what[:4] == other.what[:4] and one.at == other.at:
        return "The contents of the message differ: a value that is not the same"
    return "Look for what decides it there: a set, a global counter, a file, an address, a process number"


def _stack() -> tuple[str, ...]:
    """The caller's lines outside of our packages, innermost first."""
    frame = sys._getframe(1)
    lines: list[str] = []
    while frame is not None and len(lines) < DEPTH:
        code = frame.f_code
        if not code.co_filename.startswith((*OURS, "<frozen")) or frame.f_globals.get("PROGRAM"):
            lines.append(f"{Path(code.co_filename).name}:{frame.f_lineno} in {code.co_name}")
        if frame.f_back is None:
            break
        frame = frame.f_back
    return tuple(lines)
