"""The walk: every lesson unsolved fails with NotImplemented, solved passes, and no mutant lives."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from minitorch_dist.distributed import leftover_messages
from mtd.cli.lessons import report
from mtd.course import checking, judging, lesson
from mtd.course.lesson import Lesson, Mutant
from mtd.course.path import LessonAnswer
from mtd.course.source import unwritten

LESSONS = lesson.all_lessons()
INCOMPLETE = ("AttributeError: module", "NameError", "ImportError", "SyntaxError")  # noticed by any test
MUTANTS = [(one, mutant) for one in LESSONS for mutant in one.mutants]


def named(one: object) -> str:
    return one.folder.name if isinstance(one, Lesson) else getattr(one, "name", str(one))


def written(folder: Path, one: Lesson, text: str) -> Path:
    (folder / one.file).write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("one", LESSONS, ids=named)
def test_unsolved_fails_and_says_what_is_missing(one: Lesson, tmp_path: Path) -> None:
    skeleton = one.source.skeleton(one.number)
    ast.parse(skeleton)
    verdict = checking.check(LessonAnswer(one, written(tmp_path, one, skeleton)))
    assert not verdict.is_passed
    raising = [blank for blank in one.source.blanks if not blank.instead]
    assert len(unwritten(skeleton, one.number)) == len(raising)
    if raising:
        assert str(verdict).startswith(f"NotImplemented: blank {raising[0].number}: ")


@pytest.mark.slow
@pytest.mark.parametrize("one", LESSONS, ids=named)
def test_solved_passes_with_all_stars(
    one: Lesson, tmp_path: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """With no folder but those of earlier lessons: nothing imports forward. A right answer is not accused:
    nothing is printed, and nothing is logged. `tests.course.check_times` measures what the check takes."""
    leftover_messages._mentioned.clear()  # what was said once is not said again
    verdict = checking.check(LessonAnswer(one, written(tmp_path, one, one.source.solution())))
    assert verdict.is_passed, str(verdict)
    assert verdict.stars == 3, str(verdict)
    assert capfd.readouterr() == ("", "") and caplog.messages == []


@pytest.mark.slow
@pytest.mark.parity
def test_the_lamp_that_needs_torch(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    one = lesson.find(30)
    verdict = checking.check(LessonAnswer(one, written(tmp_path, one, one.source.solution())), only={"torch"})
    assert verdict.lamps == {"torch": True}, str(verdict)


@pytest.mark.slow
@pytest.mark.parametrize(("one", "mutant"), MUTANTS, ids=named)
def test_no_mutant_lives(one: Lesson, mutant: Mutant, tmp_path: Path) -> None:
    folder = written(tmp_path, one, mutant.text)
    verdict = checking.check(LessonAnswer(one, folder), only={*mutant.caught_by})
    for name in mutant.caught_by:
        assert verdict.lamps[name] is False, f"{name} does not catch it: {verdict}"
        said = verdict.said.get(name, "")
        assert not said.startswith(INCOMPLETE), f"{name} sees a part that is not there: {said}"
        assert said.count("\n") <= report.LINES, f"{name}'s complaint is cut on the screen: {said}"
    assert not judging.other_failure(one, mutant, verdict)


@pytest.mark.parametrize(
    ("number", "mutant", "lamp", "said"),
    [
        (13, "the_librarys_own", "all_gather", "your all_gather calls dist.all_gather, which"),
        (21, "never_frees", "fits", "8 of the 8 largest tensors that lay there were made at sharded"),
        (22, "one_try_more", "never stuck", "21 requests were sent, and TRIES is 20"),
        (28, "at_least_once", "exactly once", "first repair what correct says"),
        (29, "does_not_wait", "correct", "was told the members [0], another one [0, 1]"),
    ],
)
def test_a_complaint_names_its_cause(number: int, mutant: str, lamp: str, said: str, tmp_path: Path) -> None:
    one = lesson.find(number)
    (wrong,) = (each for each in one.mutants if each.name == mutant)
    verdict = checking.check(LessonAnswer(one, written(tmp_path, one, wrong.text)), only={lamp})
    assert said in verdict.said[lamp]


def one_of_each_lesson(one: Lesson) -> list[Mutant]:
    """Another place in the list from lesson to lesson."""
    passing = [mutant for mutant in one.mutants if mutant.passes]
    return passing[int(one.number) % len(passing) :][:1] if passing else []


SAMPLE = [(one, mutant) for one in LESSONS for mutant in one_of_each_lesson(one)]
REST = [pair for pair in MUTANTS if pair[1].passes and pair not in SAMPLE]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("one", "mutant"), [*SAMPLE, *(pytest.param(*pair, marks=pytest.mark.deep) for pair in REST)], ids=named
)
def test_a_mutant_passes_the_other_lamps(one: Lesson, mutant: Mutant, tmp_path: Path) -> None:
    """A lamp that is on runs to its end: this takes three times what catching them takes."""
    folder = written(tmp_path, one, mutant.text)
    verdict = checking.check(LessonAnswer(one, folder), only={*mutant.passes})
    for name in mutant.passes:
        assert verdict.lamps[name] is True, f"{name} does not let it pass: {verdict}"


@pytest.mark.parametrize("one", LESSONS, ids=named)
def test_a_lesson_is_whole(one: Lesson) -> None:
    assert len(one.text.split()) <= 600
    assert one.failure is not None and one.failure.mutant in [mutant.name for mutant in one.mutants]
    assert len(one.failure.page.split()) <= 160
    assert len(one.hints) == 3 and all(one.hints)
    assert one.mutants and any(mutant.seen for mutant in one.mutants)
    assert len(one.questions) >= 1
    assert (one.folder / "plot.py").exists()
    assert all(number < one.number for number in one.requires)
    assert all((one.folder / name).is_file() for name in one.given)


@pytest.mark.slow
@pytest.mark.parametrize("one", LESSONS, ids=named)
def test_questions_have_measured_answers(one: Lesson, tmp_path: Path) -> None:
    own = written(tmp_path, one, one.source.solution())
    for question in one.questions:
        assert checking.truth(LessonAnswer(one, own), question.truth) >= 0


@pytest.mark.parametrize("one", LESSONS, ids=named)
def test_a_picture_is_drawn(one: Lesson, tmp_path: Path) -> None:
    own = written(tmp_path, one, one.source.solution())
    drawn = checking.picture(LessonAnswer(one, own))
    assert isinstance(drawn, str) or len(drawn.arrows) <= 12
