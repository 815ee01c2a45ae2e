"""The picture after a check that did not pass: of the run that failed, or there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from mtd.course import lesson
from mtd.course.examination import Examination
from mtd.course.lesson import Lesson, Mutant
from mtd.course.path import LessonAnswer


def of(number: int, one: Lesson) -> Mutant:
    """One of each lesson, at another place from lesson to lesson; a failing check takes seconds."""
    some = one.mutants[::4]
    return some[number % len(some)]


EACH = [(one, of(number, one)) for number, one in enumerate(lesson.all_lessons())]


def named(each: object) -> str:
    return each.folder.name if isinstance(each, Lesson) else getattr(each, "name", str(each))


@pytest.mark.slow
@pytest.mark.parametrize(("one", "mutant"), EACH, ids=named)
def test_it_is_of_a_run_that_failed_or_says_that_there_is_none(one: Lesson, mutant: Mutant, tmp_path: Path) -> None:
    (tmp_path / one.file).write_text(mutant.text)
    with Examination(LessonAnswer(one, tmp_path), only=list(mutant.caught_by)) as exam:
        exam.wait()
    verdict = exam.verdict
    assert verdict is not None and not verdict.is_passed
    first = next(iter(verdict.said))
    if exam.stopped:
        assert exam.scene is None and not exam.text
    elif first in verdict.costs:  # right, and dear: what it does is the picture
        assert exam.scene is None or exam.caption == "what your code does"
    elif exam.scene is not None:
        token = verdict.tokens.get(first, "")
        assert exam.scene.arrows or "ranks=1;" in token
        assert exam.caption == "the run that failed" or token
    else:
        assert exam.no_picture and not exam.text
