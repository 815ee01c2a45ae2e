"""The example from which a learner's property begins: it is true of every program that the lesson calls right."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mtd.course import checking, lesson, property_trial
from mtd.course.lesson import Lesson
from mtd.course.path import LessonAnswer
from mtd.course.source import Blank, Source


def property_blank(one: Lesson) -> Blank | None:
    for blank in one.source.blanks:
        if any("def property_of" in line for line in blank.instead):
            return blank
    return None


WITH_A_PROPERTY = [one for one in lesson.all_lessons() if property_blank(one)]


def test_the_lessons_that_ask_for_a_property_are_among_these() -> None:
    assert [one.number for one in WITH_A_PROPERTY] == [5.5, 12, 30]


@pytest.mark.parametrize("one", WITH_A_PROPERTY, ids=lambda one: one.folder.name)
def test_each_given_example_passes_all_right_programs(
    one: Lesson, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = property_blank(one)
    assert given is not None
    parts = [replace(part, solution=part.instead) if part is given else part for part in one.source.parts]
    (tmp_path / one.file).write_text(Source(tuple(parts)).solution(), encoding="utf-8")
    tried: list[Callable[..., Any]] = []

    def each(test: Callable[..., Any], right: Sequence[Callable[..., Any]], examples: int = 0) -> None:
        """An example is no Hypothesis test: it is called as it stands."""
        for program in right:
            test(program)
            tried.append(program)

    monkeypatch.setattr(property_trial, "accepts", each)
    lamp = "accepts right ones"
    verdict = checking.check(LessonAnswer(one, tmp_path), only={lamp})
    assert verdict.lamps[lamp] is True, str(verdict)
    assert len(tried) >= 3
