"""Two tables race: the same sum, by two algorithms, at the same time, through the same broker.

    table 1   Ada Bob Kim Lee      ring         2(P-1) rounds, little at a time
    table 2   Mia Noa Pia Rui      binomial     2⌈log₂P⌉ rounds, everything at once

A table is as fast as its slowest laptop. Each laptop adds its rank + 1, so the sum is known, and is looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from minitorch_dist.distributed.schedules import choice
from minitorch_dist.distributed.schedules.cost import cost
from mtd.course.classroom.messages import Prepared, Race, Raced
from mtd.course.classroom.seats import Seat
from mtd.refusals import CannotDo

FLOATS, TIMES = 10_000, 10
MOST_FLOATS: Final = 1 << 22
MOST_TIMES: Final = 1000
FLOAT: Final = 8  # bytes
ALIASES: Final = {"tree": "binomial", "butterfly": "recursive_doubling", "star": "direct"}


class NoRace(CannotDo):
    """This cannot be raced."""


@dataclass
class Table:
    """Some laptops and their algorithm."""

    algorithm: str
    members: list[Seat] = field(default_factory=list)
    results: dict[int, Raced] = field(default_factory=dict)  # by seat
    rounds: int = 0
    messages: int = 0

    @property
    def seconds(self) -> float:
        return max((found.seconds for found in self.results.values()), default=0.0)

    @property
    def sent(self) -> int:
        return sum(found.sent for found in self.results.values())

    @property
    def is_right(self) -> bool:
        return all(found.is_right for found in self.results.values())


@dataclass
class ClassContest:
    algorithms: Sequence[str]
    floats: int = FLOATS
    times: int = TIMES
    tables: list[Table] = field(default_factory=list)
    prepared: set[int] = field(default_factory=set)

    def seat(self, here: Sequence[Seat], generation: int) -> list[tuple[Seat, Race]]:
        """Tables of equal size, in the order of the seats."""
        size = len(here) // len(self.algorithms)
        orders = []
        for number, algorithm in enumerate(self.algorithms):
            members = list(here[number * size : (number + 1) * size])
            bill = cost(choice.known("all_reduce")[algorithm], size, self.floats * FLOAT, itemsize=FLOAT)
            table = Table(algorithm, members, rounds=bill.rounds, messages=bill.messages)
            self.tables.append(table)
            for rank, seat in enumerate(members):
                what = number, algorithm, rank, size, self.floats, self.times
                orders.append((seat, Race(generation, *what)))
        return orders

    def take(self, seat: int, said: Prepared | Raced) -> bool:
        """Take what a laptop said. Returns True when it was the last one that had to be prepared."""
        table = next((t for t in self.tables if any(m.number == seat for m in t.members)), None)
        if table is None:
            return False
        if isinstance(said, Prepared):
            before = len(self.prepared)
            self.prepared.add(seat)
            return before < len(self.prepared) == self._laptops
        if len(self.prepared) == self._laptops and said.seconds >= 0 <= said.sent:
            table.results.setdefault(seat, said)
        return False

    @property
    def _laptops(self) -> int:
        return sum(len(table.members) for table in self.tables)

    @property
    def is_over(self) -> bool:
        return bool(self.tables) and all(len(t.results) == len(t.members) for t in self.tables)

    @property
    def winner(self) -> Table | None:
        """The fastest table whose sums are right."""
        right = [table for table in self.tables if table.is_right]
        return min(right, key=lambda table: table.seconds) if self.is_over and right else None

    def announcement(self) -> str:
        said = " against ".join(f"{len(t.members)} by {t.algorithm}" for t in self.tables)
        return f"race: {said}; {self.times} sums of {self.floats} float64"

    def in_words(self) -> str:
        if self.winner is None:
            return "nobody wins: the sums are wrong"
        others = [table for table in self.tables if table is not self.winner]
        times = ", ".join(f"{table.algorithm} {table.seconds:.2f} s" for table in others)
        return f"{self.winner.algorithm} wins: {self.winner.seconds:.2f} s; {times}"


def contest(words: str, floats: int = FLOATS, times: int = TIMES) -> ClassContest:
    """Of `ring,tree`; NoRace says what is wrong."""
    known = choice.known("all_reduce")
    algorithms = [ALIASES.get(word, word) for word in words.replace(",", " ").split()]
    for name in algorithms:
        if name not in known:
            raise NoRace(f"there is no algorithm {name[:40]!r}; there are tree, {', '.join(known)}")
    if len(algorithms) < 2:
        raise NoRace("a race needs two algorithms at least: race ring,tree")
    if not 1 <= floats <= MOST_FLOATS or not 1 <= times <= MOST_TIMES:
        raise NoRace(f"between 1 and {MOST_FLOATS} floats, and 1 and {MOST_TIMES} times")
    return ClassContest(algorithms, floats, times)
