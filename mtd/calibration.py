"""Measure a real transport, so that a simulation has its links; and compare the two.

Five numbers describe a host and a transport (`Costs`), and four small measurements give them:

    α, β    two ranks play ping-pong: one way takes α + βm
    γ       a rank adds arrays: γ a byte
    cores   N ranks send to their neighbours at once; where that takes N / c times as long as one way
            of two ranks does, they share c cores
    δ       the shortest collective of two ranks takes δ more than its message

`predict` says what a collective takes, and an interval. The interval comes from the measurements: they
are drawn anew, with repetition, and fitted again (bootstrap); and each value scatters about the fit as
the measured ones did. `verify` runs the collectives, and says which values fell inside.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from minitorch_dist.distributed import collectives, world
from minitorch_dist.distributed.execution.operations import CollectiveOperation
from minitorch_dist.distributed.mail.receives import Array
from minitorch_dist.distributed.mail.wire import Fingerprint
from minitorch_dist.distributed.prepared import How
from minitorch_dist.distributed.schedules import choice
from minitorch_dist.launching import launch
from minitorch_dist.sim import nets
from minitorch_dist.sim.runner import run
from mtd import estimates
from mtd.pages import whole_files
from transports.plain_text import clean
from transports.virtual.network import Network
from transports.virtual.topology import Link, Uniform

SIZES = (0, 1 << 10, 1 << 14, 1 << 17, 1 << 20)
CHECKS = (("all_reduce", "ring"), ("all_reduce", "binomial"), ("all_reduce", "rabenseifner"))
Exchange = Callable[[CollectiveOperation, Array, Array, int], None]  # message, where to, number

LEVEL = 0.9  # of all values should fall inside an interval
DRAWS = 200  # of the bootstrap
TOGETHER = (2, 4)  # ranks that send at once


class Costs(NamedTuple):
    """Picoseconds: of a message, of a byte sent, of a byte added, of a call; and how many cores the
    ranks share."""

    latency: float
    per_byte: float
    per_added: float = 0.0
    overhead: float = 0.0
    cores: float = float("inf")

    def time(self, collective: str, algorithm: str, size: int, nbytes: int) -> float:
        """The time of a collective of so many ranks."""
        net = Uniform(Link(round(self.latency), Fraction(self.per_byte).limit_denominator(1000)))
        schedule = choice.named(collective, algorithm)
        span = estimates.time_of(schedule, size, nbytes, net, round(self.per_added))
        return (span + self.overhead) * max(1.0, size / self.cores)


@dataclass(frozen=True)
class Measured:
    """Picoseconds, each single one."""

    trips: dict[int, list[int]]  # one way, by bytes
    added: dict[int, list[int]] = field(default_factory=dict)  # of additions, by bytes
    shifts: dict[tuple[int, int], list[int]] = field(default_factory=dict)  # by ranks and bytes
    calls: list[int] = field(default_factory=list)  # of the shortest collective of two ranks

    def again(self, chance: np.random.Generator) -> Measured:
        """As many, drawn from these."""

        def draw(spans: list[int]) -> list[int]:
            return [spans[n] for n in chance.integers(0, len(spans), len(spans))]

        trips, added = ({n: draw(spans) for n, spans in each.items()} for each in (self.trips, self.added))
        shifts = {key: draw(spans) for key, spans in self.shifts.items()}
        return Measured(trips, added, shifts, draw(self.calls) if self.calls else [])


class Interval(NamedTuple):
    """A prediction: picoseconds, and between which LEVEL of all values should fall."""

    time: int
    low: int
    high: int


class Fit(NamedTuple):
    """α in picoseconds, β in picoseconds per byte, and what they were fitted to."""

    latency: int
    per_byte: Fraction
    times: dict[int, int]  # picoseconds of one way, by bytes
    costs: Costs = Costs(0, 0)
    draws: tuple[Costs, ...] = ()  # of the bootstrap
    scatter: tuple[float, ...] = ()  # logarithms of measured by fitted

    @property
    def network(self) -> Network:
        return Network(Uniform(Link(self.latency, self.per_byte)))

    def predict(self, collective: str, algorithm: str, size: int, nbytes: int) -> Interval:
        """The time that a collective will take. The same each time."""
        time = self.costs.time(collective, algorithm, size, nbytes)
        chance = np.random.default_rng(0)
        centres = [each.time(collective, algorithm, size, nbytes) for each in self.draws]
        spread = np.exp(chance.choice(self.scatter, (len(centres), 20)))
        low, high = np.quantile(np.array(centres)[:, None] * spread, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        return Interval(round(time), round(min(low, time)), round(max(high, time)))

    def about(self) -> dict[str, Any]:
        """For the file (see `save_network`)."""
        return {
            "costs": list(self.costs),
            "draws": [list(each) for each in self.draws],
            "scatter": [round(each, 6) for each in self.scatter],
        }


def save_network(path: str | Path, latency: int, per_byte: Fraction, about: dict[str, Any]) -> None:
    """Write down measured links, in picoseconds, for `nets.load`."""
    words = {"format": nets.FORMAT, "latency_ps": latency, "ps_per_byte": per_byte.as_integer_ratio(), **about}
    whole_files.write(path, json.dumps(words, indent=1) + "\n")


def load(path: str) -> Fit | None:
    """The fit that `mtd calibrate` wrote into its file; None if a file has no measurements in it."""
    network = nets.load(path)
    words = json.loads(Path(path).read_text(encoding="utf-8"))
    if "costs" not in words:
        return None
    assert isinstance(network.topology, Uniform)
    link = network.topology.link
    try:
        draws = tuple(Costs(*map(float, row)) for row in words["draws"])
        costs, scatter = Costs(*map(float, words["costs"])), tuple(map(float, words["scatter"]))
    except (TypeError, ValueError, KeyError) as error:
        raise ValueError(f"{path} holds no measurements ({clean(str(error))}): see mtd calibrate") from None
    return Fit(link.latency, link.per_byte, {}, costs, draws, scatter)


def spans(trips: int, call: Callable[[int], object], before: Callable[[], object] = int) -> list[int]:
    """The picoseconds of some calls, one after the other. `before`: what is not counted, before each."""
    clock, found = world.current().clock, []
    for trip in range(1, trips + 1):
        before()
        start = clock.now()
        call(trip)
        found.append(clock.now() - start)
    return found


def exchanges(trips: int, exchange: Exchange, sizes: Sequence[int] = SIZES) -> dict[int, list[int]]:
    """On each rank: the picoseconds of some exchanges of each size, one after the other."""
    return {nbytes: _exchanges(trips, exchange, nbytes) for nbytes in sizes}


def _exchanges(trips: int, exchange: Exchange, nbytes: int) -> list[int]:
    message, into, found = np.zeros(nbytes, np.uint8), np.empty(nbytes, np.uint8), list[int]()

    def body(operation: CollectiveOperation) -> None:
        found.extend(spans(trips, partial(exchange, operation, message, into)))

    world.current().default_group.run(Fingerprint("custom", np.dtype(np.uint8), (nbytes,)), body)
    return found


def ping_pong(operation: CollectiveOperation, message: Array, into: Array, trip: int) -> None:
    """From the first of two ranks to the other, and back."""
    if operation.channel.rank == 0:
        receive = operation.receive(1, into, trip)
        operation.send(1, message, trip)
        operation.wait(receive)
    else:
        operation.wait(operation.receive(0, into, trip))
        operation.send(0, message, trip)


def shift(operation: CollectiveOperation, message: Array, into: Array, trip: int) -> None:
    """Each rank of several sends to its right neighbour, all at once."""
    rank, size = operation.channel.rank, len(operation.channel.ranks)
    receive = operation.receive((rank - 1) % size, into, trip)
    operation.send((rank + 1) % size, message, trip)
    operation.wait(receive)


def additions(trips: int) -> dict[int, list[int]]:
    """One rank: an array added to another, for some sizes."""
    return {nbytes: _additions(trips, nbytes) for nbytes in SIZES[2:]}


def _additions(trips: int, nbytes: int) -> list[int]:
    mine, theirs = np.zeros((2, nbytes // 4), np.float32)
    return spans(trips, lambda _: np.add(mine, theirs, out=mine))


def fit_all(measured: Measured) -> Fit:
    """The costs that explain the measurements best, and how sure that is."""
    costs = _costs(measured)
    chance = np.random.default_rng(0)
    draws = tuple(_costs(measured.again(chance)) for _ in range(DRAWS))
    pairs = [(span, costs.latency + n * costs.per_byte) for n, s in measured.trips.items() for span in s]
    for (ranks, nbytes), spans in measured.shifts.items():
        expected = (costs.latency + nbytes * costs.per_byte) * max(1.0, ranks / costs.cores)
        pairs += [(span, expected) for span in spans]
    scatter = sorted(math.log(max(span, 1) / max(expected, 1.0)) for span, expected in pairs)
    kept = scatter[:: max(1, len(scatter) // 500)]
    medians = {n: int(statistics.median(spans)) for n, spans in measured.trips.items()}
    line = fit(medians)
    return Fit(line.latency, line.per_byte, medians, costs, draws, tuple(kept))


def _costs(measured: Measured) -> Costs:
    line = fit({n: int(statistics.median(spans)) for n, spans in measured.trips.items()})
    alpha, beta = float(line.latency), float(line.per_byte)
    added = [span / nbytes for nbytes, spans in measured.added.items() for span in spans if nbytes]
    slower = [
        (ranks, math.log(max(statistics.median(spans), 1) / max(alpha + nbytes * beta, 1.0)))
        for (ranks, nbytes), spans in measured.shifts.items()
    ]
    call = statistics.median(measured.calls) if measured.calls else 0.0
    cores = _cores(slower)
    busy = max(1.0, 2 / cores)
    adding = statistics.median(added) if added else 0.0
    return Costs(alpha, beta, adding, max(0.0, call / busy - alpha), cores)


def _cores(slower: Sequence[tuple[int, float]]) -> float:
    """c, such that N ranks take max(1, N / c) times as long: least squares of the logarithms."""
    if not slower:
        return float("inf")
    most = 2 * max(ranks for ranks, _ in slower)
    tries = np.geomspace(0.25, most, 400)
    ranks, logs = np.array([n for n, _ in slower], float), np.array([log for _, log in slower])
    said = np.log(np.maximum(1.0, ranks[None, :] / tries[:, None]))
    return float(tries[int(((said - logs) ** 2).sum(axis=1).argmin())])


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
    """Play between some ranks over a transport."""
    both_ways = launch(exchanges, 2, address, args=(trips, ping_pong))[0]
    one_way = {nbytes: [span // 2 for span in spans] for nbytes, spans in both_ways.items()}
    shifts = {
        (ranks, nbytes): spans
        for ranks in TOGETHER
        for nbytes, spans in launch(exchanges, ranks, address, args=(trips, shift))[0].items()
    }
    added = launch(additions, 1, address, args=(trips,))[0]
    calls = launch(calls_of, 2, address, args=("all_reduce", "recursive_doubling", 4, trips))[0]
    return fit_all(Measured(one_way, added, shifts, calls))


def timed(collective: str, algorithm: str, nbytes: int, turns: int) -> int:
    """On each rank: the median picoseconds of one call, among calls that follow each other."""
    return int(statistics.median(calls_of(collective, algorithm, nbytes, turns)))


def calls_of(collective: str, algorithm: str, nbytes: int, turns: int) -> list[int]:
    """On each rank: the picoseconds of each call."""
    group, array = world.current().default_group, np.zeros(nbytes // 4, np.float32)
    call = getattr(collectives, collective)
    found = spans(turns + 1, lambda _: call(group, array, how=How(algorithm)), partial(collectives.barrier, group))
    return found[1:]  # the first one makes the plan


class Check(NamedTuple):
    """Picoseconds of one collective: the slowest rank's."""

    collective: str
    algorithm: str
    nbytes: int
    predicted: int
    measured: int
    low: int | None = None  # of the interval; None where nothing is known about the network's errors
    high: int | None = None

    @property
    def is_inside(self) -> bool | None:
        if self.low is None or self.high is None:
            return None
        return self.low <= self.measured <= self.high


def verify(address: str, known: Fit | Network, size: int, sizes: Sequence[int], turns: int) -> list[Check]:
    """Each of CHECKS for each number of bytes, predicted and over a real transport."""
    found = []
    for collective, algorithm in CHECKS:
        for nbytes in sizes:
            call = (collective, algorithm, nbytes, turns)
            real = max(launch(timed, size, address, args=call))
            if isinstance(known, Fit):
                said, low, high = known.predict(collective, algorithm, size, nbytes)
                found.append(Check(collective, algorithm, nbytes, said, real, low, high))
            else:
                alone = (collective, algorithm, nbytes, 1)
                said = max(run(timed, size, alone, net=known).results)
                found.append(Check(collective, algorithm, nbytes, said, real))
    return found
