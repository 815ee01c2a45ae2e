"""What `mtd dev check` says of lessons that are not as they should be."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from mtd import cli
from mtd.course import judging, lesson, notebooks


def said_of(room: Path) -> dict[str, str]:
    found = {step.name: step.run() for step in judging.steps(lesson.find(1, room))}
    return {name: complaint for name, complaint in found.items() if complaint}


@pytest.fixture
def room(tmp_path: Path) -> Path:
    first = lesson.find(1).folder
    shutil.copytree(first, tmp_path / first.name)
    return tmp_path


def edit(room: Path, name: str, old: str, new: str) -> None:
    path = lesson.find(1, room).folder / name
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_a_lesson_that_is_well(room: Path) -> None:
    assert said_of(room) == {}


def test_a_solution_that_is_wrong(room: Path) -> None:
    (blank,) = lesson.find(1, room).source.blanks
    edit(room, lesson.find(1).file, blank.solution[0].strip(), "return 0")
    assert "✘" in said_of(room)["solved"]


@pytest.mark.slow
def test_a_mutant_that_lives(room: Path) -> None:
    mutant = lesson.find(1, room).mutants[0]
    (blank,) = lesson.find(1, room).source.blanks
    path = lesson.find(1, room).folder / "mutants" / f"{mutant.name}.py"
    docstring = path.read_text("utf-8").split('"""')[1]
    right = "\n".join(line.strip() for line in blank.solution)
    path.write_text(f'"""{docstring}"""\n\n# BLANK 1: right\n{right}\n# END\n', encoding="utf-8")
    assert "should catch it, and does not" in said_of(room)[f"mutant {mutant.name}"]


def test_an_answer_that_cannot_be_measured_and_too_many_words(room: Path) -> None:
    name = lesson.find(1, room).questions[0].truth
    edit(room, "lesson.toml", f'"{name}"', '"nobody"')
    edit(room, "text.md", " ", " many words " * 20)
    said = said_of(room)
    assert "AttributeError" in said["question nobody"] and "600 are the most" in said["whole"]


@pytest.mark.slow
def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notebooks, "FOLDER", tmp_path / "notebooks")
    assert cli.main(["dev", "check", "--lesson", "1"]) == 1
    assert "differs: run mtd dev build" in capsys.readouterr().out
    assert cli.main(["dev", "build", "--lesson", "1"]) == 0
    assert cli.main(["dev", "check", "--lesson", "01_first_picture"]) == 0
    assert capsys.readouterr().out.endswith("all is well\n")
    assert cli.main(["dev", "build", "--lesson", "99"]) == 2
    assert "there is no lesson '99'" in capsys.readouterr().err
