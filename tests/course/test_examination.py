"""Code under examination: whatever it does, there is a verdict that says what it did, and nothing is left."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import weakref
from pathlib import Path

import pytest

from mtd.course import checking, examination, lesson, records
from mtd.course.candidate import OnceEach
from mtd.course.examination import Examination
from mtd.course.path import LessonAnswer
from mtd.course.verdict import CheckVerdict
from mtd.course.workspace import Workspace, make
from tests.course.small import SOLVED, room
from transports.clock import SystemClock


@pytest.fixture
def where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return make(tmp_path / "course", room(tmp_path / "room"))[0]


def examined(where: Workspace, number: int, text: str, limit: float | None = None) -> Examination:
    one = lesson.find(number, where.room)
    where.file(one).write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        if limit is not None:
            patch.setattr(examination, "limits", lambda lesson: (limit, 30 + 5 * limit))
        exam = Examination.of(where, one)
    with exam:
        exam.wait()
    assert exam.is_over and "over" in repr(exam)
    return exam


def said(exam: Examination, lamp: str = "correct") -> str:
    assert exam.verdict is not None and exam.verdict.lamps[lamp] is False
    return exam.verdict.said[lamp]


def test_an_error_that_no_caller_gets_is_told_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Thing:
        pass

    def fails(key: str) -> None:
        raise KeyError(key)

    monkeypatch.setattr(sys, "unraisablehook", OnceEach(tmp_path / "mine.py"))
    for key in "abc":
        thing = Thing()
        weakref.finalize(thing, fails, key)
        del thing
    said = capsys.readouterr().err
    assert said.count("an object was freed, and it raised KeyError: there is no 'a' in it") == 1
    assert len(said.splitlines()) == 1


@pytest.mark.slow
def test_right_and_wrong(where: Workspace) -> None:
    before = dict(os.environ)
    exam = examined(where, 1, SOLVED[1])
    assert exam.verdict is not None and exam.verdict.is_passed and exam.verdict.stars == 3
    assert dict(os.environ) == before and not (where.folder / "01_plus" / ".hypothesis").exists()
    assert records.made(CheckVerdict, json.loads(json.dumps(exam.verdict, default=records.plain))) == exam.verdict
    exam = examined(where, 1, SOLVED[1].replace("x + y", "x - y") + "\nprint('here')\n")
    assert said(exam) == "the sum of 2 and 3"
    assert exam.text == "" and "this check draws no run" in exam.no_picture and exam.printed == "here"


@pytest.mark.slow
def test_what_the_library_logs_is_not_what_the_code_printed(where: Workspace) -> None:
    lines = """
import logging
logging.getLogger("minitorch_dist.distributed").warning("a send too many")
logging.getLogger("mine").warning("my own")
"""
    exam = examined(where, 1, SOLVED[1] + lines)
    assert exam.printed == "my own" and exam.remarks == ["a send too many"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("while True: x += 0", ["0.4 seconds of processor time", "plus.py:3, in plus", "y = 3"]),
        ("import os, sys; os.close(1); sys.stdout = None; x += 1", ["the sum of 2 and 3"]),
        ("raise ValueError('\\ud800')", ["ValueError", "plus.py:3"]),
        ("import os; os._exit(7)", ["ended by itself with status 7"]),
        ("import sys; sys.exit(7)", ["SystemExit: 7", "plus.py:3"]),
        ("import ctypes; ctypes.string_at(0)", ["SIGSEGV"]),
        ("print('x'); input()", ["EOFError"]),
        ("while True: print('x' * 10**6)", ["printed more than 20 MiB"]),
        ("return plus(x, y)", ["RecursionError", "plus.py:3"]),
    ],
    ids=["loops", "closes", "half a letter", "exits", "raises SystemExit", "crashes", "reads", "prints", "recurses"],
)
def test_what_code_can_do(where: Workspace, line: str, words: list[str]) -> None:
    text = SOLVED[1].replace("    return", f"    {line}\n    return")
    exam = examined(where, 1, text, limit=0.4)
    told = said(exam)
    assert all(word in told for word in words), told


@pytest.mark.slow
def test_what_was_known_before_it_was_stopped_stays_known(where: Workspace) -> None:
    path = where.room / "01_plus" / "check.py"
    path.write_text(path.read_text() + '\n\n@lamp("ends")\ndef ends():\n    plus(None, None)\n')
    text = SOLVED[1].replace("    return", "    while x is None:\n        pass\n    return")
    exam = examined(where, 1, text, limit=0.5)
    assert "plus.py:" in said(exam, "ends")
    assert exam.verdict is not None and exam.verdict.lamps == {"correct": True, "rounds": True, "ends": False}


@pytest.mark.slow
def test_a_call_that_holds_the_interpreter(where: Workspace) -> None:
    """Nobody can look in, so it is ended from outside when its time is over."""
    one = lesson.find(1, where.room)
    where.file(one).write_text(SOLVED[1].replace("    return", "    sum(range(10**14))\n    return"))
    with Examination.of(where, one) as exam:
        while not exam.asks:
            assert not exam.poll(0.05)
        exam._deadline = SystemClock().deadline(0)
        assert exam.poll(0.05)
    assert "lets nobody look where it is" in said(exam)


@pytest.mark.slow
def test_a_loop_while_it_is_imported(where: Workspace) -> None:
    assert "plus.py:5, in <module>" in said(
        examined(where, 1, SOLVED[1] + "\nwhile True:\n    pass\n", limit=0.5), "runs"
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def plus(x, y:\n", "SyntaxError: '(' was never closed"),
        ("\x00", "null bytes"),
        ("import nothing_of_this_name\n\n\ndef plus(x, y):\n    return x + y\n", "No module named"),
        ("x = 1", "asks for a function plus(x, y), and plus.py has none"),
    ],
)
def test_what_cannot_run(where: Workspace, text: str, words: str) -> None:
    one = lesson.find(1, where.room)
    where.file(one).write_text(text)
    verdict = checking.check(LessonAnswer(one, where.place(one)))
    assert verdict.lamps == {"runs": False} and words in verdict.said["runs"]


@pytest.mark.slow
def test_what_cannot_be_read_is_said_once(where: Workspace) -> None:
    one = lesson.find(1, where.room)
    where.file(one).write_text("def plus(x, y:\n")
    exam = Examination.of(where, one).wait()
    assert exam.verdict is not None and "never closed" in exam.verdict.said["runs"]
    assert exam.no_picture == ""


@pytest.mark.slow
def test_stopped_by_its_owner_it_says_where_it_was(where: Workspace, tmp_path: Path) -> None:
    """And what it started ends as well."""
    one, mark = lesson.find(1, where.room), tmp_path / "pid"
    where.file(one).write_text(
        "import subprocess, sys\nfrom pathlib import Path\n\n\ndef plus(x, y):\n"
        "    child = subprocess.Popen([sys.executable, '-c', 'input()'], stdin=subprocess.PIPE)\n"
        f"    Path({str(mark)!r}).write_text(str(child.pid))\n    while True:\n        pass\n"
    )
    with Examination.of(where, one) as exam:
        while not mark.exists() or not mark.read_text():
            assert not exam.poll(0.05)
        assert exam.asks == ("correct",)
        exam.stop()
    assert "you stopped it" in said(exam) and "in plus, where x = 2, y = 3" in said(exam)
    pid = int(mark.read_text())
    while True:  # its parent is gone: until the system has buried it
        state = Path(f"/proc/{pid}/stat")
        if not state.exists() or ") Z" in state.read_text():
            break


@pytest.mark.slow
def test_stopped_before_it_could_say_where_it_was(where: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a loaded machine its process may need longer than the learner who pressed Ctrl-C waits."""
    monkeypatch.setattr(examination, "GRACE", 0)
    one = lesson.find(1, where.room)
    where.file(one).write_text("while True:\n    pass\n\n\ndef plus(x, y): ...\n")
    with Examination.of(where, one) as exam:
        exam.stop()
    assert exam.verdict is not None and exam.stopped == "you stopped it"
    assert exam.verdict.said["runs"] == "your code was stopped: you stopped it"


@pytest.mark.slow
def test_later_lessons_stand_on_what_passed(where: Workspace) -> None:
    one = lesson.find(1, where.room)
    where.file(one).write_text(SOLVED[1])
    exam = examined(where, 2, SOLVED[2])
    assert exam.verdict is not None and exam.verdict.used == {1: False}  # it never passed: ours
    where.keep(one, SOLVED[1], CheckVerdict(one, {"correct": True}, worth={"correct": 1}))
    exam = examined(where, 2, SOLVED[2])
    assert exam.verdict is not None and exam.verdict.used == {1: True}
    where.file(one).write_text(SOLVED[1] + "\n")
    assert where.changed_since(lesson.find(5, where.room), where.progress()) == [one]
    exam = examined(where, 5, SOLVED[5])
    assert exam.verdict is not None and exam.verdict.used == {1: False, 2: False}


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux counts so")
def test_memory_of_who_started_it_does_not_count() -> None:
    """ru_maxrss would: a check started by something large was stopped for its memory."""
    child = "from mtd.course import candidate; print(candidate.held())"
    parent = f"import subprocess, sys; x = b'x' * (1 << 29); subprocess.run([sys.executable, '-c', {child!r}])"
    done = subprocess.run(
        [sys.executable, "-c", parent],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert 1 << 24 < int(done.stdout) < 1 << 29
