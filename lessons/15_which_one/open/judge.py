"""Unknown networks: measuring takes time, and a wrong prediction takes more. Virtual time throughout."""

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np

from minitorch_dist.distributed.schedules.choice import known
from minitorch_dist.distributed.schedules.cost import textbook_time
from minitorch_dist.distributed.schedules.links import Links
from minitorch_dist.sim import nets, topology_links
from mtd.course.contest import NotAdmitted

ABOUT = "measuring, and ten reserved all_reduces: time ÷ what no all_reduce can beat"
COLUMN = "messages"
UNIT = "sent to measure, at most"
PROOF = """An all_reduce takes at least ⌈log₂ P⌉ α, for what is known of a rank can at most double in a round. And it takes
at least 2(P-1)/P n β: of each element P-1 numbers must travel, and P-1 ranks must be told the sum (lesson 15). A job
costs what it is reserved for, or more than it takes. Measuring costs time as well. So the sum over all jobs of the
larger of the two cannot be beaten."""
MOST = 1000  # messages
NOISE = 0.2  # a measured message takes up to so much longer
SECOND = 10**12  # picoseconds


@dataclass(frozen=True)
class Job:
    """An all_reduce to be done once."""

    ranks: int
    nbytes: int


@dataclass(frozen=True)
class Unknown:
    """A network, and the jobs on it. An answer gets the jobs, and a function that measures."""

    name: str
    links: Links = field(repr=False)
    jobs: tuple[Job, ...]


@dataclass(frozen=True)
class Outcome:
    time: float  # ms
    memory: float
    said: str


SMALL = tuple(
    Job(ranks, n) for ranks, n in ((4, 4), (8, 400), (6, 4_000), (13, 4_000), (16, 40_000))
)
LARGE = tuple(Job(ranks, n) for ranks, n in ((4, 10**5), (6, 10**6), (8, 10**6), (13, 10**6), (16, 10**7)))  # fmt: skip
RACES = (
    Unknown("network A", Links(1_700_000, 47), SMALL + LARGE),
    Unknown("network B", Links(41_000_000, 930), SMALL + LARGE),
    Unknown("network C", Links(300_000_000, 61), SMALL + LARGE),
    Unknown("network D", Links(90_000, 8_100), SMALL + LARGE),
)


def race_on(text):
    """Your own network: a file of `mtd calibrate`, or words."""
    links = topology_links.links_of(nets.read(text).topology)
    if links is None:
        raise NotAdmitted(
            f"{text} has links of several kinds, and one α and one β do not describe it"
        )
    return Unknown(Path(text).name, Links(links.alpha, links.beta), SMALL + LARGE)


@cache
def takes(algorithm, ranks, nbytes, links):
    """Milliseconds of an all_reduce, as the simulator counts them."""
    return textbook_time(known("all_reduce")[algorithm], ranks, nbytes, links) / SECOND * 1000


def least(race):
    """Milliseconds for all jobs; PROOF says why."""
    return sum(floor(job, race.links) for job in race.jobs) / SECOND * 1000


def floor(job, links):
    """Picoseconds, of lesson 15."""
    rounds = (job.ranks - 1).bit_length()
    return max(
        rounds * links.alpha, 2 * (job.ranks - 1) * job.nbytes * links.beta / max(job.ranks, 1)
    )


def cost(reserved, needed):
    """Milliseconds. Done early: the rest is idle. Too late: stopped, and done again in three times the time that it takes."""
    return reserved if reserved >= needed else reserved + 3 * needed


class Meter:
    """Messages between two ranks of an unknown network, and the time that they take."""

    def __init__(self, race):
        self.race, self.count, self.spent = race, 0, 0.0
        self.random = np.random.default_rng(list(race.name.encode()))

    def send(self, nbytes):
        """Milliseconds that a message of so many bytes took: never less than α + βn, and often more."""
        if isinstance(nbytes, bool) or not isinstance(nbytes, int) or nbytes < 0:
            raise NotAdmitted(f"send({nbytes!r}): a message has a whole number of bytes")
        if self.count == MOST:
            raise NotAdmitted(f"it has sent {MOST} messages to measure, and goes on")
        links = self.race.links
        took = (links.alpha + links.beta * nbytes) * (1 + NOISE * self.random.random() ** 2)
        self.count += 1
        self.spent += took / SECOND * 1000
        return took / SECOND * 1000


def play(function, race):
    meter = Meter(race)
    answer = function(race.jobs, lambda nbytes: meter.send(nbytes))
    total = meter.spent
    for job, algorithm, reserved in read(answer, race):
        total += cost(reserved, takes(algorithm, job.ranks, job.nbytes, race.links))
    return Outcome(total, meter.count, f"{total:.4g} ms, {meter.spent:.2g} to measure")


def read(answer, race):
    """Each job with its algorithm and its milliseconds; NotAdmitted if the answer is no such thing."""
    try:
        pairs = [(algorithm, float(reserved)) for algorithm, reserved in answer]
    except (TypeError, ValueError) as error:
        raise NotAdmitted(
            f"an answer is a list of (algorithm, milliseconds), one for each job. Yours cannot be read: {error}"
        ) from error
    if len(pairs) != len(race.jobs):
        raise NotAdmitted(f"there are {len(race.jobs)} jobs, and the answer is about {len(pairs)}")
    names = known("all_reduce")
    for job, (algorithm, reserved) in zip(race.jobs, pairs, strict=True):
        if algorithm not in names:
            raise NotAdmitted(f"there is no all_reduce {algorithm!r}; there are {', '.join(names)}")
        if not names[algorithm].serves(job.ranks):
            raise NotAdmitted(
                f"{algorithm} is made for {names[algorithm].domain_in_words}, and a job has {job.ranks} ranks"
            )
        if not 0 <= reserved < float("inf"):
            raise NotAdmitted(f"{reserved} ms cannot be reserved")
    return [(job, *pair) for job, pair in zip(race.jobs, pairs, strict=True)]


# ------------------------------------------------------------------------------------ simple answers


def by_the_ring(jobs, send):
    """One message each way; always the ring; twice the time that it should take."""
    alpha = send(0)
    beta = send(10**6) / 10**6
    times = [2 * (job.ranks - 1) * (alpha + beta * job.nbytes / job.ranks) for job in jobs]
    return [("ring", 2 * time) for time in times]


def without_measuring(jobs, send):
    """It reserves nothing, and takes the second attempt."""
    return [("rabenseifner", 0)] * len(jobs)


SIMPLE = {"ring, twice the time": by_the_ring, "never measures": without_measuring}
