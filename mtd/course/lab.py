"""The tools of checks: a run in virtual time, its meters, its picture.

found = meter(all_reduce, 8, 64)       8 ranks, 64 float64 each
found.bytes, found.rounds              of the rank that sends most; messages on the longest way
in_turn(all_reduce, 8, 64)             how many messages must follow each other
scene(program, 3)                      for a lesson's picture: when messages travel
grid(all_reduce, "all_reduce", 3)      for its contents: what each rank holds
@lab.learn @given(…)                   a property: the same 50 examples each time, one complaint
with threads_over("stream:…"):         launch(…, "queue://") over a learner's transport
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from hypothesis import HealthCheck, Verbosity, settings

from minitorch_dist import sim
from minitorch_dist.pictures.scene import Scene
from minitorch_dist.tensors.dtypes import float64
from minitorch_dist.tensors.makers.creation import ones
from minitorch_dist.testing.costs import ROUNDS
from mtd.grids.contributions import IN_PLACE, filled
from mtd.grids.grid import Grid
from transports import keeper, registry
from transports.virtual.network import Network
from transports.virtual.topology import Link, Uniform

SAME: Final[dict[str, Any]] = {"deadline": None, "database": None, "report_multiple_bugs": False, "print_blob": False}
SAME["suppress_health_check"] = list(HealthCheck)  # nothing depends on the machine, or on runs before
learn = settings(max_examples=50, derandomize=True, verbosity=Verbosity.quiet, **SAME)


@dataclass(frozen=True)
class RunMeter:
    """The cost of a run."""

    size: int
    count: int  # elements of each rank's tensor
    bytes: int  # of the rank that sent most
    rounds: int  # messages that follow each other
    messages: int  # of all ranks


def meter(function: Callable[[Any], Any], size: int, count: int) -> RunMeter:
    """Run `function(tensor)` on every rank, each with `count` float64."""

    def program() -> None:
        function(ones(count, dtype=float64))

    report = sim.run(program, size, net=ROUNDS)
    most = max(rank.bytes_sent for rank in report.ranks)
    return RunMeter(size, count, most, report.time, report.messages)


CHAINS = Network(Uniform(Link(0, Fraction(0), 1)))  # ports are free at once: time is the longest chain


def in_turn(function: Callable[[Any], Any], size: int, count: int) -> int:
    """How many messages must follow each other. That is the longest chain in which each waits for the one before, or what one
    rank sends or takes in, if that is more. Unlike rounds, it does not depend on which of two messages a port takes first."""
    report = sim.run(lambda: function(ones(count, dtype=float64)), size, net=CHAINS)
    return max(report.time, *(max(rank.messages, rank.messages_received) for rank in report.ranks))


def ranks(size: int) -> str:
    """For the words of a check: 1 rank, 5 ranks."""
    return "1 rank" if size == 1 else f"{size} ranks"


def scene(program: Callable[[], Any], size: int, **how: Any) -> Scene:
    """The picture of a simulated run; of one that fails too."""
    with keeper.temporary_folder("mtd-") as folder:
        path = Path(folder) / "run.mtd"
        try:
            report = sim.run(program, size, journal=path, **how)
            drawn = report.journal.scene()
        except Exception:
            from minitorch_dist.distributed import journal

            drawn = journal.read(path).scene()
        return replace(drawn, title=f"{size} ranks")


def grid(function: Callable[..., Any], collective: str = "all_reduce", size: int = 3, **how: Any) -> Grid:
    """The contents of each rank, with as many elements as ranks; with one more, where only then something goes wrong."""
    found = filled(function, collective, size, **{"count": size if collective in IN_PLACE else 1, **how})
    if found.fault is None and collective in IN_PLACE and "count" not in how:
        more = filled(function, collective, size, size + 1, **how)
        return more if more.fault else found
    return found


@contextmanager
def threads_over(name: str) -> Iterator[None]:
    """Within the block what is launched over queue:// goes over this transport, "module:Class", between
    the same threads."""
    ours = registry.BUILT_IN["queue"]
    registry.BUILT_IN["queue"] = name
    try:
        kind: Any = registry.find("queue://")
        kind.ranks_are = "threads"  # even if its address would launch it otherwise
        yield
    finally:
        registry.BUILT_IN["queue"] = ours
