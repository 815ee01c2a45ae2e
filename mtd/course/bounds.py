"""The demands of lamps, and why nothing can be better: for `mtd why`.

The formulas are those of `distributed.schedules.bounds`, which the checks measure against.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from minitorch_dist.distributed.schedules import bounds
from mtd.course.lesson import Lesson

SIZES = (2, 3, 4, 8, 64, 1024)


@dataclass(frozen=True)
class Bound:
    """A lamp in words."""

    lamp: str
    star: int
    asks: str
    formula: str
    proof: str
    least: str = ""  # the function that counts it for so many ranks

    def rows(self) -> list[tuple[int, str]]:
        return [(size, LEAST[self.least](size)) for size in SIZES] if self.least else []


def _bytes(size: int) -> str:
    return f"{float(bounds.least_bytes('all_reduce', size, 10**6)):,.0f} bytes of an all_reduce of 1,000,000"


LEAST: dict[str, Callable[[int], str]] = {"bytes": _bytes, "rounds": lambda size: f"{bounds.least_rounds(size)} rounds"}


_ROWS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))["bound"]
BOUNDS = {row["lamp"]: Bound(**row) for row in _ROWS}


def of_lesson(lesson: Lesson) -> dict[str, tuple[str, int | None]]:
    """For each lamp of a lesson's check: its function's docstring, and the star that it gives."""
    tree = ast.parse((lesson.folder / "check.py").read_text("utf-8"))
    found: dict[str, tuple[str, int | None]] = {}
    for function in tree.body:
        for mark in getattr(function, "decorator_list", []):
            if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "lamp":
                said = ast.get_docstring(function) or ""  # type: ignore[arg-type]
                how = {key.arg: ast.literal_eval(key.value) for key in mark.keywords}
                found |= {ast.literal_eval(name): (said, how.get("star")) for name in mark.args}
    return found
