"""The benchmark of the lessons: checks are measured in yardsticks, so a machine that is slow changes nothing."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from mtd.course import lesson
from mtd.course.path import LessonAnswer
from tests.course import check_times


@pytest.mark.parametrize("slowness", [1.0, 7.0])
@pytest.mark.parametrize(("plans", "status"), [(0.9, 0), (1.1, 1)])
def test_a_check_is_judged_by_its_share_of_the_plan(
    slowness: float, plans: float, status: int, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    one = lesson.find(13)
    begun = itertools.count()

    def check(asked: LessonAnswer) -> Any:
        assert asked.lesson.number == 13 and (asked.own / asked.lesson.file).exists()
        next(begun)
        return type("Verdict", (), {"seconds": plans * one.seconds * slowness})

    monkeypatch.setattr(check_times, "yardstick", lambda: check_times.YARDSTICK * slowness)
    monkeypatch.setattr(check_times.checking, "check", check)
    assert check_times.main(["--lesson", "13", "--rounds", "3"]) == status
    said = capsys.readouterr().out
    assert next(begun) == 3 and f"{plans:.2f}" in said
    assert ("more than their plan: 13_ring" in said) == bool(status)


def test_the_yardstick_takes_time() -> None:
    assert check_times.yardstick() > 0
