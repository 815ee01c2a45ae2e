"""What a check says of costs: how dear, and in which case."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from mtd.course import MeasuredCost, checking, lamp, lesson
from mtd.course.lamps import asked_by
from mtd.course.path import LessonAnswer

CHECK = """from mtd.course import MeasuredCost, lamp


@lamp("rounds")
def rounds():
    return MeasuredCost({found}, 3, unit=" rounds", where="8 ranks")
"""


@pytest.mark.parametrize(
    ("found", "said"), [(3, "✔ rounds 1.00× optimum   ★★★"), (7, "rounds: 8 ranks: 7 rounds, and 3 rounds will do")]
)
def test_a_cost_says_where(found: int, said: str, tmp_path: Path) -> None:
    ring = lesson.find("ring")
    (tmp_path / "check.py").write_text(CHECK.format(found=found), encoding="utf-8")
    (tmp_path / ring.file).write_text("", encoding="utf-8")
    one = replace(ring, folder=tmp_path)
    assert said in str(checking.check(LessonAnswer(one, tmp_path)))


def test_no_cost_at_all_is_the_least() -> None:
    assert MeasuredCost(0, 0).is_met and MeasuredCost(0, 0).ratio == 1.0
    assert not MeasuredCost(1, 0).is_met


def test_a_lamp_is_lit_by_one_function() -> None:
    """Of two, the later would speak for both."""
    check = ModuleType("check")
    check.__dict__.update(first=lamp("correct")(lambda: None), second=lamp("correct", "bytes")(lambda: None))
    with pytest.raises(ValueError, match="two functions light the lamp 'correct'"):
        asked_by(check)


SKIPS = """from mtd.course import Skipped, lamp


@lamp("correct")
def right(): ...


@lamp("torch", bonus={bonus})
def torch():
    return Skipped("torch is not installed")
"""


@pytest.mark.parametrize("bonus", [True, False])
def test_what_cannot_be_told_costs_no_star_but_must_be_a_bonus(bonus: bool, tmp_path: Path) -> None:
    ring = lesson.find("ring")
    (tmp_path / "check.py").write_text(SKIPS.format(bonus=bonus), encoding="utf-8")
    (tmp_path / ring.file).write_text("", encoding="utf-8")
    verdict = checking.check(LessonAnswer(replace(ring, folder=tmp_path), tmp_path))
    assert str(verdict) == "✔ correct  – torch   ★★★\n  torch: skipped, torch is not installed"
    assert verdict.is_passed == bonus


@pytest.mark.parametrize(
    ("number", "said"), [(1474560.0, "1,474,560"), (7, "7"), (0.25, "0.25"), (1234.5, "1,234"), (0, "0")]
)
def test_numbers_are_said_in_digits(number: float, said: str) -> None:
    assert checking.digits(number) == said


@pytest.mark.parametrize(
    ("kind", "line"), [("", "– rounds   ☆"), (', least_of="its bound"', "✔ rounds 0.67× its bound   ★★★")]
)
def test_a_cost_below_the_least_of_all_algorithms_judges_nothing(kind: str, line: str, tmp_path: Path) -> None:
    """A ring that does nothing sends nothing, and that is no 0.00× optimum."""
    ring = lesson.find("ring")
    text = CHECK.format(found=2).replace('"8 ranks")', f'"8 ranks"{kind})')
    (tmp_path / "check.py").write_text(text, encoding="utf-8")
    (tmp_path / ring.file).write_text("", encoding="utf-8")
    said = str(checking.check(LessonAnswer(replace(ring, folder=tmp_path), tmp_path)))
    assert said.startswith(line[:9])
    if kind:
        assert said == line
    else:
        assert "rounds: 8 ranks: 2 rounds, and nothing right can do with less than 3 rounds." in said
