"""The time of a schedule on a described network, without running ranks: the engine `lockstep` alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from minitorch_dist.distributed.schedules import bounds, choice, domain
from minitorch_dist.distributed.schedules.batched_overtaking import Script
from minitorch_dist.distributed.schedules.cost import cost
from minitorch_dist.distributed.schedules.links import Links
from minitorch_dist.distributed.schedules.schedule import ROOTED, Schedule, is_address
from minitorch_dist.sim import topologies, topology_links
from minitorch_dist.sim.fast import lockstep, payloadless
from mtd import two_level_bounds
from transports.virtual.clock import VirtualClock
from transports.virtual.medium import Medium
from transports.virtual.network import Network
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


def network_of(net: Topology | Network) -> Network:
    return net if isinstance(net, Network) else Network(net)


def estimate(schedule: Schedule, size: int, nbytes: int, net: Topology | Network, adding: int = 0) -> Estimate:
    """All ranks begin together. `adding`: ps to add a byte."""
    time = time_of(schedule, size, nbytes, net, adding)
    bill = cost(schedule, size, nbytes, topology_links.links_of(network_of(net).topology, adding))
    bound = least_time(schedule.collective, size, nbytes, net, adding)
    return Estimate(schedule, bill.rounds, bill.messages, bill.max_sent, time, bound)


def least_time(collective: str, size: int, nbytes: int, net: Topology | Network, adding: int = 0) -> int:
    """The time that no schedule can beat there, in picoseconds."""
    net = network_of(net).topology
    if size > 1 and isinstance(net, TwoLevel) and net.nic == "per_gpu":
        return two_level_bounds.least_time(collective, size, nbytes, net, adding)
    return bounds.least_time(collective, size, nbytes, fastest(net, size, adding))


def time_of(schedule: Schedule, size: int, nbytes: int, net: Topology | Network, adding: int = 0) -> int:
    """Picoseconds until the last rank is done."""
    network = network_of(net)
    topologies.check(network.topology, size)
    wires = topology_links.wires_of(network.topology, range(size), adding)
    if size == 1:
        return 0
    if wires is None:
        return message_by_message(schedule, size, nbytes, network, adding)
    if schedule.collective in ROOTED:
        return cost(schedule, size, nbytes, wires).time
    zeros = np.zeros(size, np.int64)
    sizes = schedule.sizes(size, nbytes)
    return int(lockstep.move(schedule, sizes, wires, zeros, zeros, zeros).clock.max())


def message_by_message(schedule: Schedule, size: int, nbytes: int, network: Network, adding: int) -> int:
    """The same where messages meet at ports and links that are shared: each passes the network."""
    medium, times = Medium(VirtualClock(), network), payloadless.Past()
    medium.times = times
    script = Script(schedule, schedule.sizes(size, nbytes), Links(gamma=adding), size)
    done: list[int] = []
    rows = payloadless.rows(script)
    traffic = payloadless.Traffic(medium, rows, range(size), lambda seat: done.append(times.now()))
    for seat in range(size):
        traffic.enter(seat)
    times.event_queue.advance_until(1 << 62)
    return max(done)


def compare(
    collective: str, size: int, nbytes: int, net: Topology | Network, algorithm: str | None = None, adding: int = 0
) -> list[Estimate]:
    """All algorithms (or the one that is named), the fastest first. One in a file stands beside all others."""
    links = topology_links.links_of(network_of(net).topology, adding)
    found = []
    if algorithm not in (None, "all"):
        found = [choice.choose(collective, size, nbytes, links, algorithm)]
    if not found or is_address(algorithm or ""):
        every = choice.candidates(collective, nbytes, links or Links(), with_gallery=True)
        found += [one for one in every if domain.may_run(one, size)]
    estimates = [estimate(schedule, size, nbytes, net, adding) for schedule in found]
    return sorted(estimates, key=lambda one: one.time)


def fastest(topology: Topology, size: int, adding: int = 0) -> Links:
    """Equal links, none slower than any of these: for bounds, that hold whatever the placement."""
    link = getattr(topology, "fastest", getattr(topology, "link", None))  # see `topologies`
    if link is not None and size > 1:
        beta = link.per_byte.numerator // link.per_byte.denominator
        return Links(link.latency, beta, adding, link.wire)
    wires = topology_links.wires_of(topology, range(size), adding)
    if wires is None or size == 1:
        return Links(0, 0, adding, 0)
    alpha, wire = np.min(wires.alpha), np.min(wires.wire)
    beta = np.min(np.array(wires.numerator) // np.array(wires.denominator))
    return Links(int(alpha), int(beta), adding, int(wire))
