"""The verdict of a lesson's check."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

from mtd.course.lamps import MeasuredCost
from mtd.course.lesson import Lesson, Number

STARS = 3


@dataclass
class CheckVerdict:
    """The findings of a check: a lamp is on, out, or None where nobody could tell."""

    lesson: Lesson
    lamps: dict[str, bool | None] = field(default_factory=dict)
    costs: dict[str, MeasuredCost] = field(default_factory=dict)
    said: dict[str, str] = field(default_factory=dict)  # by lamp: what is wrong
    tokens: dict[str, str] = field(default_factory=dict)  # by lamp: to make this run again
    worth: dict[str, int] = field(default_factory=dict)  # by lamp: its star
    bonus: set[str] = field(default_factory=set)
    unwritten: list[str] = field(default_factory=list)
    used: dict[Number, bool] = field(default_factory=dict)  # earlier lessons: whether the learner's
    seconds: float = 0.0  # of processor time, of this process

    @property
    def first_out(self) -> str:
        """The first lamp that is out and says why. A lamp that was skipped says why, too, but is not out."""
        return next((name for name in self.said if self.lamps.get(name) is not None), "")

    def cannot_run(self, said: str) -> Self:
        self.lamps["runs"], self.worth["runs"], self.said["runs"] = False, 1, said
        return self

    @property
    def is_passed(self) -> bool:
        needed = [is_on for name, is_on in self.lamps.items() if name not in self.bonus]
        return not self.unwritten and bool(needed) and all(needed)

    @property
    def stars(self) -> int:
        """So many that every lamp up to them is on."""
        if self.unwritten or not self.lamps:
            return 0
        out = [self.worth[name] for name, is_on in self.lamps.items() if not is_on]
        return min(out, default=STARS + 1) - 1

    def __str__(self) -> str:
        if self.unwritten:
            return "NotImplemented: " + "; ".join(self.unwritten)
        signs = {True: "✔", False: "✘", None: "–"}
        words = [
            f"{signs[is_on]} {name}" + (f" {self.costs[name]}" if name in self.costs else "")
            for name, is_on in self.lamps.items()
        ]
        lines = ["  ".join(words) + "   " + "★" * self.stars + "☆" * (STARS - self.stars)]
        for name, what in self.said.items():
            lines.append(f"  {name}: {what}")
            lines += [f"    replay: {self.tokens[name]}"] if name in self.tokens else []
        return "\n".join(lines)
