"""Write the property: a function that tells right from wrong, tried on all_reduces that people have written.

def property(all_reduce):             all_reduce(tensor, op=SUM) works in place, in a simulated world
    … raise if it is wrong

found = judged(Path("mine.py"))       points: wrong ones that it rejects, less right ones that it accuses
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mtd.course import all_reduces, loading
from mtd.course.lesson import Mutant, all_lessons
from mtd.course.path import LessonAnswer
from mtd.course.property_trial import defined, named
from mtd.course.scoring import Score, score
from mtd.refusals import CannotDo

TEMPLATE = Path(__file__).with_name("begin_property.txt").read_text("utf-8")


class NoProperty(CannotDo):
    """The file has no function `property` that can be called."""


def judged(file: Path) -> Score:
    """The file's `property`, tried on all of them."""
    return score(read(file), all_reduces.RIGHT, wrong_ones())


def read(file: Path) -> Callable[[Any], object]:
    """The function `property` of a file."""
    if not file.is_file():
        raise NoProperty(f"there is no file {file} (mtd museum --property --begin {file} makes one)")
    found = vars(loading.given(file, "mtd_property", NoProperty)).get("property")
    if not inspect.isfunction(found):
        raise NoProperty(f"{file} has no function property(all_reduce)")
    return found


def wrong_ones() -> list[Callable[..., Any]]:
    """The ten of `all_reduces`, and the lessons' mutants of an all_reduce that are not among them. The lazy
    ones are not here: how much is too much depends on the lesson.
    """
    found = list(all_reduces.WRONG)
    names = {one.__name__ for one in found}
    for lesson in all_lessons():
        if "all_reduce" in lesson.exports:
            with LessonAnswer.ours(lesson).searched():
                fresh = [one for one in lesson.mutants if one.seen and one.name not in names]
                found += filter(None, map(_made, fresh))
                names |= {one.name for one in fresh}
    return found


def _made(mutant: Mutant) -> Callable[..., Any] | None:
    """Its all_reduce, if that takes an operation."""
    function = defined(mutant.text, mutant.name).get("all_reduce")
    if function is None or "op" not in inspect.signature(function).parameters:
        return None
    return named(function, mutant.name, mutant.title)
