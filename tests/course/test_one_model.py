"""The small transformer of the course: every lesson that trains it gives the loss of one rank, in about the time of its formula."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from minitorch_dist.pictures import words
from minitorch_dist.pictures.scene import COMPUTE, WAIT, LaneSpan
from mtd.cli import bars, main
from mtd.course import lesson, one_model, records
from mtd.course.lesson import Lesson
from mtd.course.path import LessonAnswer

LESSONS = [one for one in lesson.all_lessons() if (one.folder / one_model.FILE).is_file()]
CLOSE = 0.04  # of the predicted time: a formula leaves out what some messages wait for


def trained(one: Lesson, own: Path) -> one_model.ModelStep:
    with LessonAnswer(one, own).searched():
        return one_model.run(one)


@pytest.mark.parametrize("one", LESSONS, ids=str)
def test_the_loss_is_that_of_one_rank_and_the_formula_tells_the_time(one: Lesson, tmp_path: Path) -> None:
    (tmp_path / one.file).write_text(one.source.filled({}))
    step = trained(one, tmp_path)
    assert step.loss == pytest.approx(one_model.loss_of_one_rank(), rel=1e-9)
    assert step.measured == pytest.approx(step.predicted, rel=CLOSE)
    assert 0 < step.peak <= one_model.DEVICE.memory
    assert step.scene.end - step.scene.start == pytest.approx(step.measured * 1e12, abs=2)
    page = (lesson.ROOM.parent / "docs" / "course.md").read_text("utf-8")
    cells = [f"{step.predicted * 1000:.2f} ms", f"{step.measured * 1000:.2f} ms", words.amount(step.peak)]
    assert f"| {one.label} {one.title} | {' | '.join(cells)} |" in page
    sent = json.dumps(step, default=records.plain)
    assert json.dumps(records.made(one_model.ModelStep, json.loads(sent)), default=records.plain) == sent


def test_it_takes_part_in_the_course() -> None:
    assert {17, 19, 21, 27, 30, 31} == {one.number for one in LESSONS}


def test_the_products_of_one_rank_take_what_the_formula_says() -> None:
    from minitorch_dist import sim

    def program() -> None:
        one_model.stepping(one_model.model(), range(one_model.SEQUENCES), 1 / one_model.SEQUENCES)()

    report = sim.run(program, 1, device=one_model.DEVICE)
    assert report.time / 1e12 == pytest.approx(one_model.computing(), rel=1e-6)


@pytest.mark.slow
def test_the_command_draws_a_learner_s_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert main(["init", str(tmp_path / "course")]) == 0
    monkeypatch.chdir(tmp_path / "course")
    capsys.readouterr()
    assert main(["show", "17", "--model"]) == 2
    assert "blank 1: " in capsys.readouterr().err
    assert main(["show", "5", "--model"]) == 2
    assert "lesson 5 trains no transformer; these do: 17, 19" in capsys.readouterr().err
    one = lesson.find(17)
    shutil.copy(one.folder / one.file, tmp_path / "course" / one.folder.name / one.file)
    (tmp_path / "course" / one.folder.name / one.file).write_text(one.source.filled({}))
    assert main(["show", "17", "--model"]) == 0
    said = capsys.readouterr().out
    assert "predicted  7.83 ms   C/P, and a ring for each parameter" in said and "as on one rank" in said
    wrong = next(mutant for mutant in one.mutants if mutant.name == "sum_for_mean")
    (tmp_path / "course" / one.folder.name / one.file).write_text(wrong.text)
    assert main(["show", "17", "--model"]) == 1
    assert "something is wrong" in capsys.readouterr().out


def test_a_column_of_many_short_spans_shows_what_took_most_of_it() -> None:
    def span(start: int, end: int, kind: str) -> LaneSpan:
        return LaneSpan(0, start, end, kind, kind, "", kind)

    dense = [part for at in range(0, 100, 10) for part in (span(at, at + 2, COMPUTE), span(at + 2, at + 10, WAIT))]
    assert bars.crowded(dense, 0, 100, 2) == {0: WAIT, 1: WAIT}
    sparse = [span(0, 1, COMPUTE), span(1, 100, WAIT)]
    assert bars.crowded(sparse, 0, 100, 2) == {}
