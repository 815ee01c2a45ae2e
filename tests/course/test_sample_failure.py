"""A failure beneath a lesson's text: compared with the check's words, but for what is left out."""

from __future__ import annotations

import json

import pytest

from mtd.course import lesson, notebooks
from mtd.course.lesson import LessonError
from mtd.course.sample_failure import HEADING, SampleFailure


def failure(said: str) -> SampleFailure:
    return SampleFailure("wrong", "Somebody adds twice.", said, "Rank 0 is in it twice.")


@pytest.mark.parametrize(
    ("said", "complaint", "same"),
    [
        ("correct: 2 is 3", "2 is 3", True),
        ("correct: 2 is\n    3", "2 is 3", True),
        ("correct: 2 is 3", "2 is 3, or 4", False),
        ("correct: 2 is 3", "2 is 4", False),
        ("correct: 2 …", "2 is 3", True),
        ("correct: 2 … 4", "2 is 3\n  4", True),
        ("correct: 2 … 4", "2 is 3\n  4 or 5", False),
        ("correct: 2 … 3 … 4", "2 is 4, and 3", False),
        ("correct: is 3", "2 is 3", False),
    ],
)
def test_what_is_left_out(said: str, complaint: str, same: bool) -> None:
    assert failure(said).is_what(complaint) is same


def test_its_page_fits_a_terminal() -> None:
    page = failure("correct: " + "a sum of all ranks " * 9 + "\n    rank 0: 3").page
    assert page.startswith(f"## {HEADING}\n\nSomebody adds twice. The check says:\n\n```\n✘ correct: ")
    assert "\n    rank 0: 3\n```\n" in page and page.endswith("Rank 0 is in it twice.\n")
    assert all(len(line) <= 78 for line in page.split("\n"))


def test_it_stands_beneath_the_text_and_in_the_notebook() -> None:
    ring = lesson.find(13)
    assert ring.failure is not None and ring.plain_text.rstrip().endswith(ring.failure.reading)
    answers = {one.truth: 1.0 for one in ring.questions}
    for text in (notebooks.of_lesson(ring, answers), notebooks.solution_of(ring, answers)):
        cells = ["".join(cell["source"]) for cell in json.loads(text)["cells"]]
        assert cells.index(ring.failure.page.strip()) == 2


def test_fields_that_nobody_knows() -> None:
    with pytest.raises(LessonError, match="mutant, wrote, said and reading"):
        SampleFailure.from_json({"mutant": "wrong", "story": "…"})
