"""The course's commands as a learner types them, with what they print."""

from __future__ import annotations

from pathlib import Path

import pytest

from minitorch_dist import cli
from minitorch_dist.course import lesson, path, workspace
from tests.course.small import SOLVED, room


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A terminal of 80 columns in an empty folder, and three small lessons."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("COLUMNS", "80")
    lessons = room(tmp_path / "room")
    for module in (lesson, path, workspace):
        monkeypatch.setattr(module, "ROOM", lessons)
    monkeypatch.setattr(lesson.all_lessons, "__defaults__", (lessons,))
    monkeypatch.setattr(workspace.find, "__defaults__", (None, lessons))
    monkeypatch.setattr(workspace.make, "__defaults__", (lessons,))
    (tmp_path / "home").mkdir()
    monkeypatch.chdir(tmp_path / "home")
    return tmp_path / "home"


@pytest.fixture
def course(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    assert cli.main(["init"]) == 0
    monkeypatch.chdir(home / "course")
    capsys.readouterr()
    return home / "course"


def out(capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> str:
    """What a command prints; no line is longer than the terminal is wide."""
    assert cli.main(words) == status
    found = capsys.readouterr()
    assert all(len(line) <= 80 for line in (found.out + found.err).splitlines())
    return found.err if status == 2 else found.out


def test_init_says_what_to_do_next(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = out(capsys, "init")
    assert "3 lessons are in" in said and "cd course" in said and "mtd check 1" in said
    said = out(capsys, "init", "course")
    assert "has all there is" in " ".join(said.split())
    (home / "letters").write_text("")
    assert "mtd init course" in out(capsys, "init", ".", status=2)


def test_without_a_folder_one_is_told_how_to_make_one(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "mtd init course" in out(capsys, "check", "1", status=2)
    listing = out(capsys, "list")
    assert "Lesson plus" in listing and "What is plus?" in listing and "mtd init course" in listing


def test_unwritten_blanks_are_shown_with_their_lines(
    course: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = out(capsys, "check", "twice", status=1)
    assert "1 blank is still to be written in 02_twice/twice.py" in said
    assert "line 7  blank 1: two of it" in said and "With plus." in said
    assert "Traceback" not in said and "mtd hint 2" in said


@pytest.mark.slow
def test_failing_and_passing(course: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = course / "01_plus" / "plus.py"
    file.write_text(SOLVED[1].replace("+", "-"))
    said = out(capsys, "check", "1", status=1)
    order = ["✘ right: the sum of 2 and 3", "x + y", "again: mtd check 1", "✘ right  ✔ rounds", "Why it matters",
             "https://example.org/plus", "Save the file"]  # fmt: skip
    places = [said.index(part) for part in order]
    assert places == sorted(places)
    assert "Why it matters" not in out(capsys, "check", status=1)  # once
    assert "has no lamp 'left'" in out(capsys, "check", "1", "--only", "left", status=2)
    file.write_text(SOLVED[1])
    said = out(capsys, "check")
    assert "★★★" in said and "Next: 02 Lesson twice" in said and "mtd predict 1" in said
    assert "passed" in out(capsys, "list")
    (course / "02_twice" / "twice.py").write_text(SOLVED[2])
    assert "(uses your lesson 1)" in out(capsys, "check", "2")
    file.write_text(SOLVED[1].replace("+", "-"))
    assert "changed since: mtd check 1" in " ".join(out(capsys, "list").split())
    said = out(capsys, "check", "2")
    assert "lesson 1 has changed since it passed; it does not pass" in " ".join(said.split())
    assert "(uses our lesson 1)" in said
    said = out(capsys, "check", "--all", status=1)
    assert "01 Lesson plus  ✘ right" in said and "02 Lesson twice  ✔ ★★★" in said


def test_hints_come_one_by_one_and_are_remembered(
    course: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = [out(capsys, "hint", "1") for _ in range(4)]
    assert "Think." in seen[0] and "Count." not in seen[0]
    assert "Count." in seen[1] and "x + y." not in seen[1]
    assert "x + y." in seen[2] and "That was all" not in seen[2]
    assert "That was all" in seen[3] and "mtd solution 1 --give-up" in seen[3]
    assert "perhaps 02_twice" in " ".join(out(capsys, "hint", "twise", status=2).split())


def test_a_damaged_progress_is_told(course: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (course / "progress.json").write_text("{")
    assert "progress.damaged-1.json" in out(capsys, "list").replace("\n", "")
