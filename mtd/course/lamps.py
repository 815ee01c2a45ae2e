"""How a check says what it asks for: functions with lamps.

    @lamp("correct")
    def right(): assert …                          is on if nothing is raised
    @lamp("correct", "exactly once", "never stuck")
    def kept(): return check_collective(…)         a testing.Verdict brings several lamps
    @lamp("bytes")
    def bytes(): return MeasuredCost(sent, least)          is on if `found` is at most `limit` times the least
    @lamp("torch", bonus=True)
    def torch(): return Skipped("torch is not installed")      is neither on nor out
    @lamp("real wire", star=3, processes=True)     starts processes: is asked when all before it are on

Each lamp is worth a star: ★ right, ★★ never stuck, ★★★ as cheap as can be.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any, TypeVar

STARS = {"correct": 1, "exactly once": 1, "never stuck": 2, "frozen": 2}
STARS |= dict.fromkeys(("bytes", "rounds", "memory", "cheap"), 3)
F = TypeVar("F", bound=Callable[..., Any])


OPTIMUM = "optimum"


@dataclass(frozen=True)
class MeasuredCost:
    """The measured cost, and the least that is possible."""

    found: float
    least: float
    limit: float = 1.0  # times the least
    unit: str = ""
    where: str = ""  # in which case, for the words of a failing check
    least_of: str = OPTIMUM  # whose least it is: of all algorithms, or of one kind

    @property
    def ratio(self) -> float:
        return self.found / self.least if self.least else (1.0 if not self.found else float("inf"))

    @property
    def is_met(self) -> bool:
        return self.found <= self.limit * self.least * (1 + 1e-12)

    @property
    def is_too_good(self) -> bool:
        """Less than the least of all algorithms."""
        return self.least_of == OPTIMUM and self.found < self.least * (1 - 1e-9)

    def __str__(self) -> str:
        return f"{self.ratio:.2f}× {self.least_of}"


@dataclass(frozen=True)
class Skipped:
    """Nobody can tell here, and why. No star depends on it, but a lamp that is no bonus must be on all the same."""

    why: str


@dataclass(frozen=True)
class Asked:
    """A function of a check, and which lamps it lights."""

    lamps: tuple[str, ...]
    star: int | None  # None: what each lamp's name is worth
    is_bonus: bool  # its lamps need not be on for the lesson to be passed
    function: Callable[[], Any]
    has_processes: bool = False  # it starts some that import the learner's file

    def worth(self, name: str) -> int:
        return self.star or STARS.get(name, 1)


def lamp(*names: str, star: int | None = None, bonus: bool = False, processes: bool = False) -> Callable[[F], F]:
    """This function decides whether these lamps are on. One with `processes` is asked only when all lamps before it
    are on, and not in a notebook, whose cells are no file."""
    if not names:
        raise ValueError('lamp() takes at least one name, like @lamp("correct")')

    def mark(function: F) -> F:
        function.__dict__["asked"] = Asked(names, star, bonus, function, processes)
        return function

    return mark


def asked_by(module: ModuleType) -> list[Asked]:
    """The questions of a check, in its order."""
    asked = (getattr(value, "asked", None) for value in vars(module).values())
    found = [each for each in asked if isinstance(each, Asked)]
    names = [name for asked in found for name in asked.lamps]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ValueError(
            f"two functions light the lamp {min(twice)!r}, so the later would speak for both: let one call the other"
        )
    return found
