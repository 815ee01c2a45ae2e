"""What a schedule takes on a described network, without running ranks: the engine `lockstep` alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from minitorch_dist.distributed.schedules import bounds, choice
from minitorch_dist.distributed.schedules.cost import cost
from minitorch_dist.distributed.schedules.links import Links
from minitorch_dist.distributed.schedules.schedule import ROOTED, Schedule
from minitorch_dist.sim import declared, lockstep, two_level_bounds
from transports.virtual.topology import Topology, TwoLevel


@dataclass(frozen=True)
class Estimate:
    """One schedule on one network. Times in picoseconds."""

    schedule: Schedule
    rounds: int
    messages: int
    max_sent: int  # bytes, of the rank that sends most
    time: int
    bound: int  # what no schedule can beat


def estimate(
    schedule: Schedule, size: int, nbytes: int, net: Topology, adding: int = 0
) -> Estimate:
    """All ranks begin together. `adding`: ps to add a byte."""
    time = time_of(schedule, size, nbytes, net, adding)
    bill = cost(schedule, size, nbytes, declared.links_of(net, adding))
    bound = least_time(schedule.collective, size, nbytes, net, adding)
    return Estimate(schedule, bill.rounds, bill.messages, bill.max_sent, time, bound)


def least_time(collective: str, size: int, nbytes: int, net: Topology, adding: int = 0) -> int:
    """What no schedule can beat there, in picoseconds."""
    if size > 1 and isinstance(net, TwoLevel) and net.nic == "per_gpu":
        return two_level_bounds.least_time(collective, size, nbytes, net, adding)
    return bounds.least_time(collective, size, nbytes, declared.fastest(net, size, adding))


def time_of(schedule: Schedule, size: int, nbytes: int, net: Topology, adding: int = 0) -> int:
    """Picoseconds until the last rank is done."""
    wires = declared.wires_of(net, range(size), adding)
    if wires is None:
        raise ValueError(f"ranks share ports in {net!r}: run it message by message, with sim.run")
    if size == 1:
        return 0
    if schedule.collective in ROOTED:
        return cost(schedule, size, nbytes, wires).time
    zeros = np.zeros(size, np.int64)
    sizes = schedule.sizes(size, nbytes)
    return int(lockstep.move(schedule, sizes, wires, zeros, zeros, zeros).clock.max())


def compare(
    collective: str,
    size: int,
    nbytes: int,
    net: Topology,
    algorithm: str | None = None,
    adding: int = 0,
) -> list[Estimate]:
    """All algorithms (or the one that is named), the fastest first."""
    links = declared.links_of(net, adding)
    if algorithm not in (None, "all"):
        found = [choice.choose(collective, size, nbytes, links, algorithm)]
    else:
        found = list(choice.candidates(collective, nbytes, links or Links()))
    estimates = [estimate(schedule, size, nbytes, net, adding) for schedule in found]
    return sorted(estimates, key=lambda one: one.time)
