"""The course in a real (pseudo) terminal: opened, failed, repaired, passed, left; and terminals that can do little."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from mtd.course import progress as progresses
from mtd.course.lesson import VARIABLE
from mtd.course.workspace import make
from tests.course.small import SOLVED, room
from tests.course.terminal import HERE, Terminal

pytestmark = pytest.mark.slow


@pytest.fixture
def env(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    found = {"XDG_STATE_HOME": str(tmp_path / "state"), VARIABLE: str(room(tmp_path / "room"))}
    for name, value in found.items():
        monkeypatch.setenv(name, value)
    return found


@pytest.fixture
def course(env: Mapping[str, str], tmp_path: Path) -> Path:
    return make(tmp_path / "course", Path(env[VARIABLE]))[0].folder


def saved(file: Path, text: str) -> None:
    """As many editors save: another file is moved in its place."""
    draft = file.with_suffix(".draft")
    draft.write_text(text)
    draft.replace(file)


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (60, 20), (120, 40)])
def test_from_the_first_blank_to_the_next_lesson(columns: int, rows: int, course: Path, env: Mapping[str, str]) -> None:
    file = course / "01_plus" / "plus.py"
    with Terminal(cwd=course, columns=columns, rows=rows, env=env) as terminal:
        terminal.see("01 Lesson plus", "This is plus.", "save 01_plus/plus.py and it is checked", "n next", "q quit")
        terminal.press("p")
        terminal.see("line 3: blank 1")
        terminal.press("h")
        terminal.see("1 of 3 Nudge", "Think.", "h says more")
        file.write_text(SOLVED[1].replace("+", "-"))
        terminal.see(
            "✘ correct: the sum of 2 and 3", "again: mtd check 1", "✘ correct ✔ rounds", "Why it matters", "hint: h"
        )
        terminal.press("n")
        terminal.see("lesson 1 has not passed.")
        saved(file, SOLVED[1])
        terminal.see("✔ correct ✔ rounds", "★★★", "Next: 02 Lesson twice", gone="✘")
        if columns == 80:
            terminal.press("cp")  # the picture as soon as the check is over
            terminal.see("x + y", gone="★★★")
            terminal.press("s")
            terminal.see("this picture has no steps")
        terminal.press("o")
        terminal.see("return x + y", "def plus(x, y):")
        terminal.press("l")
        terminal.see("passed", "▶", "type a number and press enter")
        terminal.press("1\r")
        terminal.see("This is plus.", "passed n goes on")
        terminal.press("n")
        terminal.see("02 Lesson twice", "This is twice.", gone="passed")
        terminal.press("q")
        said = terminal.end()
        assert terminal.is_cooked() and "\x1b[?1049l" in said and str(terminal.screen) == ""
    found = progresses.read(course)
    assert found.passed[1].stars == 3 and found.present == 2 and found.hints == {1: 1}


def test_going_about(course: Path, env: Mapping[str, str]) -> None:
    """To a lesson by its number, on without passing, anew, guessing, and again where one was."""
    file = course / "02_twice" / "twice.py"
    with Terminal(cwd=course, env=env) as terminal:
        terminal.see("01 Lesson plus")
        terminal.press("9\r")
        terminal.see("there is no lesson '9'")
        terminal.press("52\x7f\r")
        terminal.see("05 Lesson many")
        terminal.press("2\r")
        terminal.see("02 Lesson twice")
        terminal.press("nn")
        terminal.see("05 Lesson many", "This is many.")
        terminal.press("02\r")
        terminal.see("This is twice.")
        file.write_text("mine = 1\n")
        terminal.see("asks for a function twice(x), and twice.py has none")
        terminal.press("x")
        terminal.see("begin twice.py anew?")
        terminal.press("n")
        terminal.see("nothing was changed")
        assert file.read_text() == "mine = 1\n"
        terminal.press("xy")
        terminal.see("kept/twice-1.py")
        assert (file.parent / "kept" / "twice-1.py").read_text() == "mine = 1\n"
        terminal.press("g")
        terminal.see("What is two and three?", "your number:")
        terminal.press("6\n")
        terminal.see("you 6 measured 5", "enter goes back")
        terminal.press("\n")
        terminal.see("This is twice.", gone="Guess first")
        terminal.press("?")
        terminal.see("step through it, forward and back")
        terminal.press("z")
        terminal.see("? tells the keys")
        terminal.resize(60, 20)
        terminal.see("n next", "q quit", gone="? help t text")
        terminal.press("q")
        terminal.end()
    with Terminal(cwd=course, env=env) as terminal:
        terminal.see("02 Lesson twice")
        terminal.press("\x1b[B\x1b[A\x03")  # arrows, then Ctrl-C: there is nothing to stop
        terminal.end()
        assert terminal.is_cooked()


def test_a_loop_is_stopped_by_ctrl_c_and_by_the_next_save(course: Path, env: Mapping[str, str]) -> None:
    file = course / "01_plus" / "plus.py"
    looping = SOLVED[1].replace("    return", "    while True: x += 0\n    return")
    with Terminal(cwd=course, env=env) as terminal:
        terminal.see("01 Lesson plus")
        file.write_text(looping)
        terminal.see("checking: correct", "Ctrl-C stops it")
        terminal.press("\x03")
        terminal.see("you stopped it", "plus.py:3, in plus, where x = 2, y = 3", gone="checking")
        saved(file, looping + "\n")
        terminal.see("checking: correct")
        saved(file, SOLVED[1])
        terminal.see("★★★")
        saved(file, looping)
        terminal.see("checking: correct")
        terminal.press("q")
        terminal.end()


def test_stopped_and_told_to_end(course: Path, env: Mapping[str, str]) -> None:
    with Terminal(cwd=course, env=env) as terminal:
        terminal.see("01 Lesson plus")
        os.kill(terminal.process.pid, signal.SIGTERM)
        terminal.end(143)
        assert terminal.is_cooked() and "\x1b[?1049l" in terminal.said


def test_the_first_time_it_offers_a_folder(env: Mapping[str, str], tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    with Terminal(cwd=home, env=env) as terminal:
        terminal.see("Enter makes it")
        terminal.press("n\n")
        assert "mtd init course" in terminal.end()
    assert not (home / "course").exists()
    with Terminal(cwd=home, env=env) as terminal:
        terminal.see("Enter makes it")
        terminal.press("\n")
        terminal.see("01 Lesson plus", "save 01_plus/plus.py")
        terminal.press("q")
        terminal.end()
    assert (home / "course" / "05_many" / "many.py").exists()


def test_a_check_in_a_terminal_is_stopped_by_ctrl_c(course: Path, env: Mapping[str, str]) -> None:
    (course / "01_plus" / "plus.py").write_text("while True:\n    pass\n\n\ndef plus(x, y): ...\n")
    with Terminal("check", "1", cwd=course, env=env) as terminal:
        terminal.see("lesson 1: begins")
        terminal.press("\x03")
        assert "you stopped it" in terminal.end(1)


def test_a_dumb_terminal(course: Path, env: Mapping[str, str]) -> None:
    """It says where one is and what to do next, and ends; a check moves nothing and colours nothing."""
    dumb = {**env, "TERM": "dumb"}
    with Terminal(cwd=course, env=dumb) as terminal:
        said = terminal.end()
    assert "0 of 3 passed" in said and "mtd check 1" in said and "\x1b" not in said
    (course / "01_plus" / "plus.py").write_text(SOLVED[1])
    with Terminal("check", cwd=course, env={**dumb, "PYTHONIOENCODING": "ascii"}) as terminal:
        said = terminal.end()
    assert "\x1b" not in said and "***" in said and said.isascii()


def test_without_colours(course: Path, env: Mapping[str, str]) -> None:
    (course / "01_plus" / "plus.py").write_text(SOLVED[1])
    with Terminal(cwd=course, env={**env, "NO_COLOR": "1"}) as terminal:
        terminal.see("★★★")
        terminal.press("q")
        said = terminal.end()
    assert not any(f"\x1b[{colour}m" in said for colour in ("31", "32", "33", "36", "1;36"))


def test_without_a_terminal(course: Path, env: Mapping[str, str], tmp_path: Path) -> None:
    for cwd, words in ((course, "mtd check 1"), (tmp_path, "0 of 3 passed")):
        done = subprocess.run(
            [sys.executable, "-m", "mtd"],
            capture_output=True,
            text=True,
            check=True,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": str(HERE)},
        )
        assert words in done.stdout and not done.stderr
