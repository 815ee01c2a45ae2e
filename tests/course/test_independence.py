"""A check judges its own lesson: how an earlier one was solved makes no difference to the verdict."""

from __future__ import annotations

from pathlib import Path

import pytest

from mtd.course import candidate, checking, lesson
from mtd.course.lesson import Lesson, Mutant
from mtd.course.path import LessonAnswer

# Earlier lessons, solved rightly in another way: (what stands in ours, what stands there)
OTHERWISE = {
    1: [("return (rank + 1) % size", "return rank + 1 if rank + 1 < size else 0")],
    2: [("np.may_share_memory(", "np.shares_memory("), ("        return grad\n", "        return grad.copy()\n")],
    3: [("ready.pop()", "ready.pop(0)")],
    6: [("return max(now, landed)", "return landed if landed > now else now")],
}


def solved(folder: Path, *numbers: float) -> dict[float, Path]:
    """These lessons, solved otherwise."""
    found = {}
    for number in numbers:
        one = lesson.find(number)
        text = one.source.solution()
        for ours, theirs in OTHERWISE[number]:
            assert ours in text, (number, ours)
            text = text.replace(ours, theirs)
        found[number] = folder / one.folder.name
        found[number].mkdir()
        (found[number] / one.file).write_text(text)
    return found


def written(folder: Path, one: Lesson, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / one.file).write_text(text)
    return folder


@pytest.mark.parametrize("number", OTHERWISE)
def test_another_right_solution_is_right(number: float, tmp_path: Path) -> None:
    own = solved(tmp_path, number)[number]
    verdict = checking.check(LessonAnswer(lesson.find(number), own))
    assert verdict.stars == 3, str(verdict)


LATER = [(one, number) for one in lesson.all_lessons() for number in OTHERWISE if number in one.requires]


@pytest.mark.slow
@pytest.mark.parametrize(("one", "number"), LATER, ids=str)
def test_a_later_lesson_passes_whichever_way_the_earlier_one_was_solved(
    one: Lesson, number: float, tmp_path: Path
) -> None:
    verdict = checking.check(
        LessonAnswer(one, written(tmp_path / "own", one, one.source.solution()), solved(tmp_path, number))
    )
    assert verdict.is_passed and verdict.stars == 3, str(verdict)


IN_PLACE = next(mutant for mutant in lesson.find(3).mutants if mutant.name == "in_place")
PAIRS = [
    (one, number, mutant) for one, number in LATER for mutant in one.mutants[:2] if mutant.name != IN_PLACE.name
] + [(lesson.find(3), 2, IN_PLACE)]


@pytest.mark.slow
@pytest.mark.parametrize(("one", "number", "mutant"), PAIRS, ids=lambda each: getattr(each, "name", str(each)))
def test_a_wrong_answer_is_wrong_whichever_way_the_earlier_one_was_solved(
    one: Lesson, number: float, mutant: Mutant, tmp_path: Path
) -> None:
    earlier = solved(tmp_path, number)
    verdict = checking.check(
        LessonAnswer(one, written(tmp_path / "own", one, mutant.text), earlier), only=set(mutant.caught_by)
    )
    for name in mutant.caught_by:
        assert verdict.lamps[name] is False, str(verdict)


STOPPED = """
def given(x):
    return here()

def mine(x):
    # BLANK 1: something (about 1 line)
    return given(x)
    # END
"""


def test_where_code_was_stopped_is_a_line_of_the_learners(tmp_path: Path) -> None:
    file, text = tmp_path / "mine.py", STOPPED
    file.write_text(text)
    names: dict[str, object] = {"here": lambda: [*candidate.places(file)]}
    exec(compile(text, str(file), "exec"), names)
    (place,) = names["mine"](7)  # type: ignore[operator]
    line = next(n for n, each in enumerate(text.split("\n"), 1) if "return given(x)" in each)
    assert place == f"mine.py:{line}, in mine, where x = 7: return given(x)"
    (place,) = names["given"](7)  # type: ignore[operator]
    assert ", in given" in place and "None" not in place
