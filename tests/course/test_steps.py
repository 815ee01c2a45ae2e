"""A lesson is written step by step: what is written is judged, and what needs the rest tells nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from mtd.course import checking, lesson
from mtd.course.lesson import Lesson, all_lessons
from mtd.course.path import LessonAnswer
from mtd.course.verdict import CheckVerdict

LONG = [one for one in all_lessons() if len(one.source.blanks) > 1]


def after(one: Lesson, written: set[int], folder: Path, others: str = "") -> CheckVerdict:
    """The verdict where only these blanks are written, all as in our solution; `others` stands for one of them."""
    given = {blank.number: [line.removeprefix(blank.indent) for line in blank.instead] for blank in one.source.blanks}
    left = {
        blank.number: (*given[blank.number],) or (blank.missing(one.number).strip(),) for blank in one.source.blanks
    }
    fillings = {number: lines for number, lines in left.items() if number not in written}
    text = one.source.filled(fillings)
    (folder / one.file).write_text(text.replace(*others.split("=>")) if others else text, "utf-8")
    return checking.check(LessonAnswer(one, folder))


def accused(one: Lesson, written: set[int], folder: Path) -> list[str]:
    """The lamps that are out. An example that is to become something better may be told so."""
    verdict = after(one, written, folder)
    assert not verdict.is_passed
    examples = any(blank.instead for blank in one.source.blanks if blank.number not in written)
    return [] if examples else [f"{name}: {verdict.said[name]}" for name, on in verdict.lamps.items() if on is False]


@pytest.mark.parametrize("one", LONG, ids=lambda one: one.folder.name)
def test_who_has_written_all_but_the_last_blank_is_not_accused(one: Lesson, tmp_path: Path) -> None:
    assert not accused(one, {*range(1, len(one.source.blanks))}, tmp_path)


@pytest.mark.deep
@pytest.mark.parametrize("one", LONG, ids=lambda one: one.folder.name)
def test_nor_who_has_written_the_first_ones(one: Lesson, tmp_path: Path) -> None:
    for last in range(1, len(one.source.blanks) - 1):
        assert not accused(one, {*range(1, last + 1)}, tmp_path)


@pytest.mark.slow
def test_a_function_is_judged_before_the_others_are_written(tmp_path: Path) -> None:
    ring = lesson.find(13)
    verdict = after(ring, {3}, tmp_path)
    assert verdict.lamps["all_gather"] is True and verdict.lamps["correct"] is None
    wrong = after(ring, {3}, tmp_path, "(rank - step - 1) % size=>(rank + step - 1) % size")
    assert wrong.lamps["all_gather"] is False and wrong.lamps["correct"] is None
    assert "correct" not in wrong.said and wrong.said["all_gather"]


# The lamp of each blank. A learner who has written the first ones has these lamps on.
STEPS = {
    6: ("leaves", "lands", "received"),
    11: ("speaker", "parent", "children"),
    14: ("numbers", "ranks", "fold in", "fold out"),
    17: ("start", "average", "buffers", "loss"),
    18: ("assign", "pack", "average", "pieces"),
    19: ("order", "launch", "average"),
    28: ("correct", "never torn"),
}


@pytest.mark.slow
@pytest.mark.parametrize("number", STEPS)
def test_each_blank_has_a_lamp_which_is_on_as_soon_as_it_is_written(number: int, tmp_path: Path) -> None:
    one = lesson.find(number)
    assert len(STEPS[number]) == len(one.source.blanks)
    for last in range(1, len(one.source.blanks)):
        lamps = after(one, {*range(1, last + 1)}, tmp_path).lamps
        assert [lamps[name] for name in STEPS[number][:last]] == [True] * last
        assert lamps[STEPS[number][last]] is None


@pytest.mark.parametrize("number", STEPS)
def test_each_of_these_lamps_is_the_first_that_rejects_some_mutant(number: int) -> None:
    """The walk proves what a mutant says about itself."""
    mutants = lesson.find(number).mutants
    for at, name in enumerate(STEPS[number]):
        assert any(name in one.caught_by and {*STEPS[number][:at]} <= {*one.passes} for one in mutants), name
