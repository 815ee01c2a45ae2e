"""Measure a real transport, so that a simulation has its links; and compare the two.

`measure` lets two ranks play ping-pong and fits one way = α + βm to the medians. `measured` runs the
collectives themselves, and `predicted` the same in virtual time: what the model leaves out (cores that
are shared, copies, the interpreter) is the difference.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from minitorch_dist.distributed import collectives, world
from minitorch_dist.distributed.collectives import How
from minitorch_dist.distributed.execution.operations import Operation
from minitorch_dist.distributed.groups import Group
from minitorch_dist.distributed.mail.wire import Fingerprint
from minitorch_dist.launching import launch
from minitorch_dist.sim.runner import run
from transports.virtual.medium import Network
from transports.virtual.topology import Link, Uniform

SIZES = (0, 1 << 10, 1 << 14, 1 << 17, 1 << 20)
CHECKS = (("all_reduce", "ring"), ("all_reduce", "binomial"), ("all_reduce", "rabenseifner"))


class Fit(NamedTuple):
    """α in picoseconds, β in picoseconds per byte, and what they were fitted to."""

    latency: int
    per_byte: Fraction
    times: dict[int, int]  # picoseconds of one way, by bytes

    @property
    def network(self) -> Network:
        return Network(Uniform(Link(self.latency, self.per_byte)))


def ping_pong(trips: int, sizes: Sequence[int] = SIZES) -> dict[int, int]:
    """One rank of two: the median one-way time for each size."""
    group: Group = world.current().default_group
    found: dict[int, int] = {}
    for nbytes in sizes:

        def body(operation: Operation, nbytes: int = nbytes) -> None:
            found[nbytes] = _trip(operation, nbytes, trips)

        group.run(Fingerprint("custom", np.dtype(np.uint8), (nbytes,)), body)
    return found


def _trip(operation: Operation, nbytes: int, trips: int) -> int:
    clock, rank = world.current().clock, operation.channel.rank
    message, into = np.zeros(nbytes, np.uint8), np.empty(nbytes, np.uint8)
    times = []
    for trip in range(trips):
        start = clock.now()
        if rank == 0:
            receive = operation.receive(1, into, trip + 1)
            operation.send(1, message, trip + 1)
            operation.wait(receive)
        elif rank == 1:
            operation.wait(operation.receive(0, into, trip + 1))
            operation.send(0, message, trip + 1)
        times.append((clock.now() - start) // 2)
    return int(statistics.median(times))


def fit(times: dict[int, int]) -> Fit:
    """α + βm, by least squares on relative errors: so the short messages count as well."""
    sizes = np.array(list(times), float)
    spans = np.maximum(np.array([times[n] for n in times], float), 1.0)
    weights = 1 / spans
    rows = np.stack([np.ones_like(sizes), sizes], 1) * weights[:, None]
    (alpha, beta), *_ = np.linalg.lstsq(rows, spans * weights, rcond=None)
    latency = max(0, round(float(alpha)))
    return Fit(latency, Fraction(max(float(beta), 0.0)).limit_denominator(1000), dict(times))


def measure(address: str, trips: int = 50) -> Fit:
    """Play between two ranks over a transport."""
    return fit(launch(ping_pong, 2, address, args=(trips,))[0])


def timed(collective: str, algorithm: str, nbytes: int, turns: int) -> int:
    """On each rank: the median picoseconds of one call, among calls that follow each other."""
    here = world.current()
    array = np.zeros(nbytes // 4, np.float32)
    times = []
    call = getattr(collectives, collective)
    for turn in range(turns + 1):
        collectives.barrier(here.default_group)
        start = here.clock.now()
        call(here.default_group, array, how=How(algorithm))
        if turn:  # the first one makes the plan
            times.append(here.clock.now() - start)
    return int(statistics.median(times))


class Check(NamedTuple):
    """Picoseconds of one collective: the slowest rank's."""

    collective: str
    algorithm: str
    nbytes: int
    predicted: int
    measured: int


def verify(
    address: str, network: Network, size: int, sizes: Sequence[int], turns: int = 10
) -> list[Check]:
    """Each of CHECKS for each number of bytes, in virtual time and over a real transport."""
    found = []
    for collective, algorithm in CHECKS:
        for nbytes in sizes:
            call = (collective, algorithm, nbytes, turns)
            real = max(launch(timed, size, address, args=call))
            said = max(run(timed, size, (collective, algorithm, nbytes, 1), net=network).results)
            found.append(Check(collective, algorithm, nbytes, said, real))
    return found
