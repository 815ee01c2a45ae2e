"""The contest: a schedule of one's own against all that are built in, and against what nothing can beat.

found = held(read(Path("mine.py")), ranks=8)
print(found.place, found.next_place())

A file has a generator of steps called like its collective (`def all_reduce(rank, size): yield …`), or what
`register_schedule` made; for pipelines a function `order(rank, pipe)`. It is proved first: each
contribution once, everybody comes to the end (after at most `domain.MOST` steps) also where sends wait. Then it runs on
several declared networks with a short and a long vector; its score is the geometric mean of time / bound.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType

from minitorch_dist.distributed.pipelining.orders import ORDERS, Make, Pipe
from minitorch_dist.distributed.schedules import domain, schedule_files
from minitorch_dist.distributed.schedules.schedule import COLLECTIVES, Schedule, ScheduleError
from mtd.course import pipelines
from mtd.laboratory import cases, racing
from mtd.laboratory.cases import Case
from mtd.refusals import CannotDo
from transports.quantities import in_words

SIZES = ("1KB", "16MB")
MINE = "yours"
NETWORKS = ("ethernet", "cluster", "nodes")  # of those of `laboratory.cases`
TEMPLATE = Path(__file__).with_name("begin_contest.txt").read_text("utf-8")


class NotAdmitted(CannotDo):
    """The file has nothing to enter, or what it has is wrong; says what."""


def networks(ranks: int) -> dict[str, str]:
    """The declared set, by name."""
    described = {name: cases.NETWORKS[name](ranks) for name in NETWORKS}
    return {name: words for name, words in described.items() if words}


def read(file: Path) -> Schedule | Make:
    """Returns the entry in the file: its last schedule, or an order."""
    if not file.is_file():
        raise NotAdmitted(f"there is no file {file} (mtd contest {file} --begin makes one)")
    try:
        if file.suffix == ".xml":
            return schedule_files.in_file(file)[-1]
        module = schedule_files.load(file.resolve())
    except ScheduleError as error:
        raise NotAdmitted(str(error)) from error
    return _entered(module, file)


def _entered(module: ModuleType, file: Path) -> Schedule | Make:
    schedules = list(schedule_files.of_module(module, file.stem))
    if schedules:
        return schedules[-1]
    order: Make | None = getattr(module, "order", None)
    if inspect.isfunction(order):
        return order
    raise NotAdmitted(
        f"{file} enters nothing: write def all_reduce(rank, size): yield …, or another of {', '.join(COLLECTIVES)}; "
        "or @dist.register_schedule(…); or, for pipelines, def order(rank, pipe): return [Action(…), …]"
    )


# ----------------------------------------------------------------------------------- the result


@dataclass(frozen=True)
class Leg:
    """The time of an entry in one race."""

    time: float
    least: float  # what nothing can beat
    said: str  # 3.2 ms
    rounds: int = 0
    sent: int = 0  # bytes, of the rank that sends most
    memory: float = 0  # vectors (or micro-batches) beyond the caller's
    why: str = ""  # it takes longer than another, where an open chapter says so

    @property
    def ratio(self) -> float:
        return self.time / self.least if self.least else 1.0


@dataclass(frozen=True)
class ContestEntry:
    name: str
    legs: tuple[Leg, ...]
    is_mine: bool = False

    @property
    def score(self) -> float:
        return math.prod(leg.ratio for leg in self.legs) ** (1 / len(self.legs))

    @property
    def memory(self) -> float:
        return max(leg.memory for leg in self.legs)


@dataclass(frozen=True)
class Contest:
    about: str
    races: tuple[str, ...]
    entries: tuple[ContestEntry, ...]  # the best first
    unit: str  # of memory
    column: str = "memory"  # what is less, of two that take the same time

    def named(self, name: str) -> ContestEntry:
        return next(entry for entry in self.entries if entry.name == name)

    @property
    def mine(self) -> ContestEntry:
        return next(entry for entry in self.entries if entry.is_mine)

    @property
    def place(self) -> int:
        return self.entries.index(self.mine) + 1

    def next_place(self) -> str:
        """The time that the next place would take, in words."""
        mine = self.mine
        if self.place == 1:
            return f"Nothing that is built in is better. Yours is {mine.score - 1:.0%} above the bound."
        above = self.entries[self.place - 2]
        said = f"For place {self.place - 1} ({above.name}, {above.score:.2f}×) "
        if math.isclose(mine.score, above.score):
            return f"{said}it must take less {self.column}: {mine.memory:g} against {above.memory:g} {self.unit}."
        said += f"it must take {100 * (1 - above.score / mine.score):.2g}% less time, on average. "
        worst = max(range(len(self.races)), key=lambda race: mine.legs[race].time / above.legs[race].time)
        here, there = mine.legs[worst], above.legs[worst]
        said += f"It loses most at {self.races[worst]}: {here.said} against {there.said}"
        if here.rounds:
            said += f"; it takes {here.rounds} rounds against {there.rounds}, "
            said += f"and a rank sends {here.sent:,} bytes against {there.sent:,}"
        return said + "."


def held(
    entered: Schedule | Make, ranks: int = 8, networks_given: Sequence[str] = (), sizes: Sequence[str] = SIZES
) -> Contest:
    """Prove it, let it run, rank it. NotAdmitted says what is wrong with it."""
    if ranks < 2:
        raise NotAdmitted(f"a contest takes at least 2 ranks, not {ranks}")
    if isinstance(entered, Schedule):
        return _of_schedules(entered, ranks, networks_given, sizes)
    actions = domain.ending(entered, "actions", error=NotAdmitted)
    return _of_orders(lambda rank, pipe: list(actions(rank, pipe)), ranks)


def ranked(entries: list[ContestEntry]) -> tuple[ContestEntry, ...]:
    return tuple(sorted(entries, key=lambda one: (round(one.score, 9), one.memory, not one.is_mine)))


# ------------------------------------------------------------------------------------ schedules


def _of_schedules(mine: Schedule, ranks: int, given: Sequence[str], sizes: Sequence[str]) -> Contest:
    if not mine.serves(ranks):
        near = sorted(filter(mine.serves, range(2, 2 * ranks + 1)), key=lambda size: abs(size - ranks))[:2]
        said = f"; try --ranks {' or '.join(map(str, sorted(near)))}" if near else ""
        raise NotAdmitted(f"{mine} is made for {mine.domain_in_words}, and not for {ranks} ranks{said}")
    for size in sorted({*domain.usual_sizes(mine), ranks}):
        racing.prove(mine, size, size, NotAdmitted)
    known = networks(ranks)
    races = [Case(name, known.get(name, name), ranks, size) for name in dict.fromkeys(given or known) for size in sizes]
    legs: dict[str, list[Leg]] = {}
    for case in races:
        for found in racing.estimated(replace(mine, name=MINE), case):
            memory = scratch(found.schedule, ranks, case.nbytes)
            leg = Leg(found.time, found.bound, in_words(found.time), found.rounds, found.max_sent, memory)
            legs.setdefault(found.schedule.name, []).append(leg)
    whole = {name: tuple(each) for name, each in legs.items() if len(each) == len(races)}
    entries = [ContestEntry(name, each, name == MINE) for name, each in whole.items()]
    about = f"{mine.collective} with {ranks} ranks: time ÷ what no schedule can beat there"
    names = tuple(f"{case.name} {case.size}" for case in races)
    return Contest(about, names, ranked(entries), "vectors beyond the caller's")


def scratch(schedule: Schedule, size: int, count: int) -> float:
    """The most that a rank keeps beyond its vector, in vectors: chunks from `total` on."""
    total = schedule.total(size)
    sizes = schedule.sizes(size, count)
    most = 0
    for rank in range(size):
        named = {chunk for step in schedule.plain(rank, size) for chunk in (*step.sent, *step.taken)}
        most = max(most, sum(int(sizes[chunk % len(sizes)]) for chunk in named if chunk >= total))
    return most / count if count else 0.0


# --------------------------------------------------------------------------------------- orders


def _of_orders(mine: Make, ranks: int) -> Contest:
    """Several numbers of micro-batches, equal stages, free links; on paper, as the papers do."""
    pipes = [Pipe(ranks, times * ranks) for times in (1, 2, 4)]
    entries = []
    for name, make in {MINE: mine, **ORDERS}.items():
        try:
            scores = [pipelines.score(make, pipe) for pipe in pipes]
        except Exception as error:
            if make is not mine:
                continue
            kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
            said = f"{kind}{error}"
            raise NotAdmitted(f"the order with {ranks} ranks: {said}") from error
        legs = [Leg(s.time, s.least_time, f"{s.time} ms", memory=s.memory) for s in scores]
        entries.append(ContestEntry(name, tuple(legs), make is mine))
    about = f"orders of a pipeline of {ranks} ranks: time ÷ the least that any order could take"
    races = tuple(f"{pipe.microbatches} micro-batches" for pipe in pipes)
    return Contest(about, races, ranked(entries), "micro-batches on the rank that holds most")
