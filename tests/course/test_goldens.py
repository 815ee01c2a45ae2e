"""Each lesson's picture is what it was, letter by letter (see `goldens`)."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from minitorch_dist.pictures.terminal import sayable
from mtd.course import lesson
from mtd.course.lesson import Lesson
from tests.course import goldens


def name(one: Lesson) -> str:
    return one.folder.name


@pytest.mark.parametrize("one", lesson.all_lessons(), ids=name)
def test_the_picture_is_as_it_was(one: Lesson) -> None:
    drawn, file = goldens.drawn(one), goldens.file_of(one)
    assert file.exists() and drawn == file.read_text("utf-8"), (
        f"if it is meant: python -m tests.course.goldens {one.number}"
    )
    assert all(len(line) <= 80 for line in drawn.splitlines())


def test_no_golden_is_left_of_a_lesson_that_is_gone() -> None:
    known = {goldens.file_of(one) for one in lesson.all_lessons()}
    assert not [path for path in goldens.FOLDER.glob("*.txt") if path not in known]


@pytest.mark.parametrize("one", lesson.all_lessons(), ids=name)
def test_it_can_be_said_in_ascii(one: Lesson) -> None:
    """Also the lesson's text, its hints and its questions."""
    console = Console(file=io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    texts = [one.text, *one.hints, one.title, one.question, one.why, *(q.ask + q.formula for q in one.questions)]
    for text in [*texts, goldens.drawn(one)]:
        said = sayable(text, console)
        assert said.isascii() and said.count("?") == text.count("?"), sorted({c for c in text if not c.isascii()})
