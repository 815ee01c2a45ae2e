"""The course's commands as a learner types them, with what they print."""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from mtd import cli
from mtd.cli import keyboard
from mtd.cli.lessons import check, listing, watch
from mtd.cli.page import Page
from mtd.course import bounds, lesson, path, workspace
from mtd.course.progress import Progress
from tests.course.small import SOLVED, room


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A terminal of 80 columns in an empty folder, and three small lessons."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("COLUMNS", "80")
    lessons = room(tmp_path / "room")
    for module in (lesson, path, workspace):
        monkeypatch.setattr(module, "ROOM", lessons)
    for function in (lesson.all_lessons, lesson.find):
        monkeypatch.setattr(function, "__defaults__", (lessons,))
    monkeypatch.setattr(workspace.around, "__defaults__", (lessons,))
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
    return found.err or found.out if status == 2 else found.out


def test_init_says_what_to_do_next(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = out(capsys, "init")
    assert "3 lessons are in" in said and "cd course" in said and "mtd check 1" in said
    said = out(capsys, "init", "course")
    assert "has all there is" in " ".join(said.split())
    (home / "letters").write_text("")
    assert "mtd init course" in out(capsys, "init", ".", status=2)


def test_without_a_folder_one_is_told_how_to_make_one(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "mtd init course" in out(capsys, "check", "1", status=2)
    listing = out(capsys, "list")
    assert "Lesson plus" in listing and "What is plus?" in listing and "mtd init course" in listing


def test_the_list_is_one_screen_wherever_one_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """24 lines of 80 columns, with a line for the prompt; the question of the present lesson is there."""
    monkeypatch.setenv("COLUMNS", "80")
    for one in lesson.all_lessons():
        here = SimpleNamespace(present=lambda _, one=one: one, is_begun=lambda *_: False, room=lesson.ROOM)
        listing.brief(Page(), here, Progress())  # type: ignore[arg-type]
        said = capsys.readouterr().out
        assert said.count("\n") <= 22 and max(map(len, said.split("\n"))) <= 80
        assert one.question[:20] in said and "mtd list --all" in said


@pytest.mark.parametrize("words", ["", "list", "size 1", "text 1"])
def test_a_reader_who_has_seen_enough_ends_it_without_a_word(
    course: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    """As in `mtd list | head -3`: nobody reads the pipe any more."""
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w", buffering=1) as unread:
        monkeypatch.setattr(sys, "stdout", unread)
        assert cli.main(words.split()) == 0
    assert capsys.readouterr() == ("", "")


def test_unwritten_blanks_are_shown_with_their_lines(course: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = out(capsys, "check", "twice", status=1)
    assert "Still to be written in 02_twice/twice.py" in said and "in twice" in said
    assert "line 7  blank 1: two of it" in said and "With plus." in said
    assert "Traceback" not in said and "mtd hint 2" in said


@pytest.mark.slow
def test_failing_and_passing(course: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = course / "01_plus" / "plus.py"
    file.write_text(SOLVED[1].replace("+", "-"))
    said = out(capsys, "check", "1", status=1)
    order = [
        "no picture",
        "✘ correct: the sum of 2 and 3",
        "again: mtd check 1",
        "✘ correct  ✔ rounds",
        "Why it matters",
        "https://example.org/plus",
        "Save the file",
    ]
    places = [said.index(part) for part in order]
    assert places == sorted(places)
    assert "Why it matters" not in out(capsys, "check", status=1)  # once
    assert "has no lamp 'left'; it has correct and rounds" in out(capsys, "check", "1", "--only", "left", status=2)
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
    assert "01 Lesson plus  ✘ correct" in said and "02 Lesson twice  ✔ ★★★" in said


def test_hints_come_one_by_one_and_are_remembered(course: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seen = [out(capsys, "hint", "1") for _ in range(4)]
    assert "Think." in seen[0] and "Count." not in seen[0]
    assert "Count." in seen[1] and "x + y." not in seen[1]
    assert "x + y." in seen[2] and "That was all" not in seen[2]
    assert "That was all" in seen[3] and "mtd solution 1 --give-up" in seen[3]
    assert "perhaps 02_twice" in " ".join(out(capsys, "hint", "twise", status=2).split())


def test_a_damaged_progress_is_told(course: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (course / "progress.json").write_text("{")
    assert "progress.damaged-1.json" in out(capsys, "list").replace("\n", "")


@pytest.mark.slow
def test_guessing_first(course: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert "No predictions yet" in out(capsys, "predict")
    monkeypatch.setattr("sys.stdin", io.StringIO("many\n2*3\n"))
    said = out(capsys, "predict", "1")
    assert "'many' is not a number" in said and "you 6   measured 5" in said and "2 + 3" in said
    assert "✔" in out(capsys, "predict", "1", "5")
    assert "not a number" in out(capsys, "predict", "1", "x", status=2)
    assert "you gave 2" in out(capsys, "predict", "1", "5", "5", status=2)
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert "Nothing was guessed" in out(capsys, "predict", "1")
    said = out(capsys, "predict")
    assert "1 of 1 exact" in said and said.count("●") == 1


@pytest.mark.slow
def test_solution_reference_and_reset(course: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = course / "01_plus" / "plus.py"
    assert "--give-up" in out(capsys, "solution", "1", status=2)
    assert out(capsys, "solution", "1", "--give-up") == lesson.find(1).source.solution()
    assert out(capsys, "solution", "1") == lesson.find(1).source.solution()  # it is remembered
    file.write_text(SOLVED[1])
    assert "your lesson" not in out(capsys, "check", "1")
    (course / "02_twice" / "twice.py").write_text(SOLVED[2])
    assert "take our 1" in out(capsys, "use", "reference", "1")
    assert "(uses our lesson 1)" in out(capsys, "check", "2") and file.read_text() == SOLVED[1]
    assert "ours is used" in out(capsys, "list")
    assert "take your plus.py" in out(capsys, "use", "mine", "plus")
    assert "(uses your lesson 1)" in out(capsys, "check", "2")
    said = out(capsys, "reset", "1")
    assert "kept/plus-1.py" in said and (course / "01_plus/kept/plus-1.py").read_text() == SOLVED[1]
    assert file.read_text() == lesson.find(1).source.skeleton(1)
    assert "is as it was at first." in out(capsys, "reset", "1")
    (course / "01_plus" / "text.md").write_text("notes of mine\n")
    assert "kept/text-1.md" in out(capsys, "reset", "1")
    assert (course / "01_plus/kept/text-1.md").read_text() == "notes of mine\n"
    assert "has not passed yet" in out(capsys, "use", "mine", "1")
    with pytest.raises(SystemExit):
        cli.main(["use", "theirs", "1"])


@pytest.mark.slow
def test_the_picture_of_a_lesson(course: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "line 3: blank 1" in " ".join(out(capsys, "show", "1", status=2).split())
    (course / "01_plus" / "plus.py").write_text(SOLVED[1])
    assert "x + y" in out(capsys, "show", "plus")
    assert "has no steps" in out(capsys, "show", "1", "--step", status=2)
    assert "is text" in out(capsys, "show", "1", "--html", status=2)
    assert "there is no lesson '77'" in " ".join(out(capsys, "show", "77", status=2).split())
    (course / "01_plus" / "plus.py").write_text("1/0\n")
    said = out(capsys, "show", "1", status=2)
    assert "ZeroDivisionError" in said and "plus.py:1" in said


def test_texts_and_lamps(course: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = out(capsys, "text", "2")
    assert "This is twice." in said and "mtd check 2" in said and "mtd predict 2" in said
    said = out(capsys, "why", "bytes")
    assert "2 (P-1)/P n" in said and "1024 ranks: 1,998,047 bytes" in said and "Because" in said
    assert "10 rounds" in out(capsys, "why", "rounds") and "never stuck" in out(capsys, "why")
    assert "perhaps never stuck" in " ".join(out(capsys, "why", "nevr", "stuck", status=2).split())


def test_every_lamp_of_every_lesson_is_explained() -> None:
    for one in lesson.all_lessons():
        for name, (said, _) in bounds.of_lesson(one).items():
            assert said or name in bounds.BOUNDS, f"{one}: the function of the lamp {name!r} has no docstring"


@pytest.mark.slow
def test_the_doctor_looks_at_everything(course: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["doctor"])
    said = capsys.readouterr().out
    for what in ("Python: 3.", "numpy", "BLAS", "terminal", "letters", "loopback", "key", "torch", "your course"):
        assert what in said
    assert all(len(line) <= 80 for line in said.splitlines())


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_terminals_that_know_few_letters(encoding: str, course: Path) -> None:
    for words in (["list"], ["text", "1"], ["why"], ["why", "bytes"], ["hint", "1"]):
        file = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
        with contextlib.redirect_stdout(file):
            assert cli.main(words) == 0
        file.flush()
        assert "?" * 3 not in file.buffer.getvalue().decode(encoding)  # type: ignore[attr-defined]


@pytest.mark.slow
def test_a_script_in_the_folder_imports_lessons(
    course: Path, home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (course / "train.py").write_text(
        "import plus\nfrom twice import twice\nassert twice(2) == 4, twice(2)\nprint(plus.__file__)\n"
    )
    assert cli.main(["run", "--ranks", "2", "train.py"]) == 0
    found = capsys.readouterr()
    assert str(home.parent / "room") in found.out and "(plus is ours, twice is ours)" in found.err
    (course / "01_plus" / "plus.py").write_text(SOLVED[1].replace("x + y", "x + y + 1"))
    monkeypatch.chdir("/")
    script = str(course / "train.py")
    for address in ("sim://", "tcp://"):
        assert cli.main(["run", "--ranks", "2", "--net", address, script]) == 1
        found = capsys.readouterr()
        assert "(plus is yours, twice is ours)" in found.err and "AssertionError" in found.err
        assert "5" in found.err
    (home / "train.py").write_text("import plus\n")
    assert cli.main(["run", "--ranks", "1", str(home / "train.py")]) == 1
    assert "No module named 'plus'" in capsys.readouterr().err


@pytest.mark.slow
def test_a_failing_run_is_drawn_and_made_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the ring itself, in which the index runs the wrong way."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("COLUMNS", "80")
    where, _ = workspace.make(tmp_path / "course")
    monkeypatch.chdir(where.folder)
    one = lesson.find("ring")
    mutant = next(mutant for mutant in one.mutants if mutant.name == "plus_for_minus")
    where.file(one).write_text(mutant.text)
    said = out(capsys, "check", "13", status=1)
    order = ["\nall_reduce, 3 ranks", "rank 2   c c c", "✘ rank 0, element 1: ac₂", "sent at ring.py:", "✘ correct: 3 ranks, 1 element", "again: mtd check 13 --replay",
             "✘ exactly once", "✘ correct  ✘ exactly once", "Why it matters"]  # fmt: skip
    places = [said.index(part) for part in order]
    assert places == sorted(places)
    token = said.partition('--replay "')[2].partition('"')[0]
    again = out(capsys, "check", "13", "--replay", token, status=1)
    assert "✘ correct: 3 ranks, 1 element" in again and "trains" not in again
    assert "does not fail" in out(capsys, "check", "13", "--replay", token.replace("ranks=3", "ranks=2"))
    assert "is no token" in out(capsys, "check", "13", "--replay", "mtd1:seed=3", status=2)
    assert 13 not in where.progress().passed


def test_the_page_names_only_commands_and_keys_that_there_are() -> None:
    page = (Path(__file__).parents[2] / "docs" / "course.md").read_text("utf-8")
    for words in re.findall(r"mtd ([a-z]+)", page):
        assert words in cli.COMMANDS, words
    rows = re.findall(r"^\| (`.*?) \|", page.partition("## The folder")[0], re.M)
    for key in re.findall(r"`(\S)`", " ".join(rows)):
        assert key in watch.MEANINGS or key == "?"


@pytest.mark.slow
def test_what_is_skipped_is_not_wrong_and_what_differs_is_told(
    course: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check = lesson.find(1).folder / "check.py"
    check.write_text(
        "from plus import plus\nfrom mtd.course import Skipped, lamp\n\n\n@lamp('correct')\ndef right():\n"
        "    assert plus(1, 1) == 2, 'says <Book: 3 pages>'\n\n\n@lamp('again')\ndef again():\n"
        "    assert plus(1, 1) == 2, 'says <Book: 4 pages>'\n\n\n@lamp('torch', bonus=True)\ndef torch():\n"
        "    return Skipped('torch is not here')\n\n\ndef picture():\n    return 'x'\n"
    )
    file = course / "01_plus" / "plus.py"
    file.write_text(SOLVED[1])
    said = out(capsys, "check", "1")
    assert "– torch: skipped, torch is not here" in said and "✔ correct  ✔ again  – torch (extra)  ★★★" in said
    file.write_text(SOLVED[1].replace("+", "-"))
    said = out(capsys, "check", "1", status=1)
    assert "✘ again: it may fail for the same reason, and says more when *correct* is on" in said
    assert "4 pages" not in said and "✘ torch" not in said
    file.write_text(SOLVED[1].replace("x + y", "x / 0"))
    assert "✘ again: it may fail for the same reason" in out(capsys, "check", "1", status=1)


def test_a_passed_lesson_that_is_gone_is_replaced_by_ours(course: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number, folder in ((1, "01_plus"), (2, "02_twice")):
        (course / folder / f"{folder[3:]}.py").write_text(SOLVED[number])
        out(capsys, "check", str(number))
    (course / "05_many" / "many.py").write_text(SOLVED[5])
    (course / "02_twice" / "twice.py").unlink()
    said = " ".join(out(capsys, "check", "5").split())
    assert "your lesson 2 passed once, and 02_twice/twice.py is no more: ours is used" in said
    assert "uses your lesson 1 and our lesson 2" in said and "Passed" in said
    assert "is no more: mtd reset 2" in out(capsys, "list")
    assert "there is no" in out(capsys, "check", "2", status=2)
    (course / "01_plus").rename(course / "mine")
    said = " ".join(out(capsys, "check", "5").split())
    assert "01_plus/plus.py is no more" in said and "uses our lesson 1 and 2" in said
    out(capsys, "reset", "2")
    assert "twice.py is no more" not in out(capsys, "check", "5")


def test_a_forgotten_return_is_told(course: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = course / "01_plus" / "plus.py"
    file.write_text("def plus(x, y):\n    x + y\n")
    said = " ".join(out(capsys, "check", "1", status=1).split())
    assert "the sum of 2 and 3" in said
    (course / "02_twice" / "twice.py").write_text("def twice(x):\n    return plus(x, x)\n")
    assert "NameError" in out(capsys, "check", "2", status=1)


def test_checked_again_after_each_save(
    course: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without keys: the file is saved twice, then Ctrl-C is pressed."""
    file = course / "01_plus" / "plus.py"
    saves = iter(["def plus(x, y):\n    return x - y\n", SOLVED[1]])

    def sleep(clock: object, seconds: float) -> None:
        text = next(saves, None)
        if text is None:
            raise KeyboardInterrupt
        file.write_text(text)

    monkeypatch.setattr(check, "SystemClock", type("Clock", (), {"sleep": sleep}))
    said = out(capsys, "check", "1", "--watch")
    assert said.count("it is checked again") == 3
    assert "Still to be written" in said and "the sum of 2 and 3" in said and "Passed" in said


def test_where_no_keys_can_be_read_it_is_told_what_to_do(
    course: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on Windows, which has no termios."""
    monkeypatch.setitem(sys.modules, "termios", None)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert not keyboard.is_there()
    said = " ".join(re.sub(r"\x1b\[\d*m", "", out(capsys)).split())
    assert "In their place mtd check 1 --watch checks whenever you save." in said


def test_the_verdict_stands_where_the_eye_is(course: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """From the complaint to the end it is a screen of 24 lines, however much was printed before it."""
    file = course / "01_plus" / "plus.py"
    file.write_text(SOLVED[1].replace("+", "-") + "\nfor line in range(100):\n    print(line)\n")
    said = out(capsys, "check", "1", status=1)
    assert len(said[said.index("✘ correct: the sum") :].splitlines()) <= 24
    assert said.index("your code printed") < said.index("✘ correct: the sum")


def test_a_quiet_check_says_two_lines(course: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = course / "01_plus" / "plus.py"
    said = out(capsys, "check", "1", "--quiet", status=1)
    assert "to be written; the first is blank 1" in said and len(said.splitlines()) == 1
    file.write_text(SOLVED[1].replace("+", "-"))
    first, second = out(capsys, "check", "-q", "1", status=1).splitlines()
    assert first == "✘ correct: the sum of 2 and 3" and second.startswith("✘ correct")
    file.write_text(SOLVED[1])
    assert out(capsys, "check", "-q", "1").splitlines()[0].endswith("★★★")


def test_sizes_are_chosen_and_changed(course: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = course / "01_plus" / "plus.py"
    said = out(capsys, "size", "1")
    assert "▶  gap" in said and "function" in said and "mtd size 1 function" in said
    file.write_text(SOLVED[1].replace("+", "-"))
    said = " ".join(out(capsys, "size", "1", "file").split())
    assert "size file now: the whole file is blank" in said and "no blank left" in said
    assert "mtd reset 1" in said and file.read_text() == SOLVED[1].replace("+", "-")
    assert "begun (file)" in out(capsys, "list") and "(size file)" in out(capsys)
    out(capsys, "reset", "1")
    assert file.read_text() == lesson.find(1).sized("file").skeleton(1)
    said = out(capsys, "check", "1", status=1)
    assert "all of this" in said and "plus(x, y)" in said
    file.write_text(SOLVED[1])
    assert "★★★" in out(capsys, "check", "1")
    file.write_text("def minus(x, y): ...\n")
    said = " ".join(out(capsys, "check", "1", status=1).split())
    assert "✘ runs: lesson 1 asks for a function plus(x, y), and plus.py has none" in said
    said = " ".join(out(capsys, "size", "gap").split())
    assert "kept/plus-2.py" in said and "What you wrote stays: minus" in said
    assert "def minus" in file.read_text() and "blank 1" in file.read_text()
    assert "has this size: gap" in " ".join(out(capsys, "size", "1", "gap").split())
    assert "no size 'huge'; there are gap, function and file" in out(capsys, "size", "1", "huge", status=2)
    assert "no lesson '9'" in " ".join(out(capsys, "size", "9", "gap", status=2).split())


def test_init_with_a_size_leaves_begun_lessons_alone(course: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (course / "02_twice" / "twice.py").write_text(SOLVED[2])
    said = out(capsys, "init", "--size", "file")
    assert "Size file" in said and "Brought up to date" in said
    assert (course / "02_twice" / "twice.py").read_text() == SOLVED[2]
    assert "# plus(x, y)" in (course / "01_plus" / "plus.py").read_text()
    sizes = workspace.find().progress()
    assert [sizes.size_of(number) for number in (1, 2, 5)] == ["file", "gap", "file"]
    listing = out(capsys, "list")
    assert "begun (gap)" in listing and "Size file: the whole file is blank" in listing
    out(capsys, "init", "--size", "gap")
    assert (course / "01_plus/plus.py").read_text() == lesson.find(1).source.skeleton(1)
    with pytest.raises(SystemExit):
        cli.main(["init", "--size", "huge"])
