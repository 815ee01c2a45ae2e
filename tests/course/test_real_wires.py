"""Lessons over real wires: what is told when a file works in the simulator alone. The walk has the right ones."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mtd import cli
from mtd.course import checking, lesson
from mtd.course.lamps import Asked, asked_by
from mtd.course.lesson import Lesson
from mtd.course.path import LessonAnswer
from mtd.course.real_wires import differences
from mtd.course.real_wires.swapping import FILE, SIM, TCP, WireRun, has_wires, swap_wires
from mtd.course.verdict import CheckVerdict
from tests.course.small import room
from tests.launching.waiting import is_running, until

LESSONS = (5, 9, 13, 17, 21, 22, 28, 31, 32, 33, 34, 35)
LOOP = "    for step in range(size - 1):\n        # BLANK 1"


def over(folder: Path, number: int, text: str, *wires: str, patience: float = 120.0) -> list[WireRun]:
    one = lesson.find(number)
    (folder / one.file).write_text(text, encoding="utf-8")
    with LessonAnswer(one, folder).searched():
        return list(swap_wires(one, wires, patience=patience))


def ring(*changes: tuple[str, str]) -> str:
    text = lesson.find(13).source.solution(marks=True)
    for before, after in changes:
        assert before in text
        text = text.replace(before, after, 1)
    return text


def test_these_lessons_have_a_program_and_a_lamp() -> None:
    """The lamp is the last one, since it starts processes. `test_walk` runs each over all wires."""
    assert tuple(one.number for one in lesson.all_lessons() if has_wires(one)) == LESSONS
    for one in map(lesson.find, LESSONS):
        with LessonAnswer.ours(one).searched():
            last = asked_by(checking.load(one))[-1]
        assert last.lamps == ("real wire",) and last.has_processes and not last.is_bonus
        assert f"mtd wire {one.number}" in one.text and "✔ real wire" in one.text


@pytest.mark.slow
def test_one_wire_after_the_simulator(tmp_path: Path) -> None:
    found = over(tmp_path, 13, ring(), FILE)
    assert [one.wire for one in found] == [SIM, FILE] and not any(one.wrong for one in found)
    assert found[0].digest == found[1].digest and all(one.time > 0 for one in found)


@pytest.mark.slow
def test_a_rank_that_counts_others_in_a_variable_hangs(tmp_path: Path) -> None:
    """In the simulator all have entered themselves in SEEN when the barrier is over; of processes each sees itself."""
    waits = "    SEEN.add(rank)\n    dist.barrier()\n    if len(SEEN) < size:\n        dist.recv(tensor, left)\n"
    text = ring((LOOP, waits + LOOP), ("COMBINE =", "SEEN = set()\n\nCOMBINE ="))
    *_, simulated, real = over(tmp_path, 13, text, TCP, FILE, patience=4.0)
    assert simulated.wire == SIM and not simulated.wrong
    assert real.wire == TCP and real.wrong.startswith("over tcp: it hangs. DistTimeout: rank ")
    waiting = [
        rank
        for rank in range(3)  # each waits for its left neighbour
        if re.search(rf"rank {rank}:? wait(s|ed 4\.0 s) for rank {(rank - 1) % 3} in recv", real.wrong)
    ]
    assert waiting  # one that ran out of time at the same moment says nothing any more
    assert re.search(r"SEEN \(ring\.py:\d+\): in the simulator all ranks share it", real.wrong)


@pytest.mark.slow
def test_a_sum_in_a_variable_is_wrong_and_the_place_is_told(tmp_path: Path) -> None:
    """Nothing raises: each process sums what it has, and only the simulator's result tells."""
    one = lesson.find(17)
    text = one.source.solution(marks=True)
    text = text.replace("        all_reduce(p.grad)\n", "        all_reduce(p.grad)\n        p.grad *= heard()\n")
    text = text.replace(
        "class Distributed",
        "RANKS = {}\n\n\ndef heard():\n    RANKS[dist.get_rank()] = 1\n    dist.barrier()\n"
        "    return len(RANKS) / dist.get_world_size()\n\n\nclass Distributed",
    )
    simulated, real = over(tmp_path, 17, text, TCP)
    assert not simulated.wrong and simulated.digest != real.digest
    assert re.match(r"over tcp rank 0 has another result than in the simulator\. In run 1 \[\d\]", real.wrong)
    assert "RANKS (replicas.py:" in real.wrong


def test_what_is_wrong_in_the_simulator_is_tried_nowhere_else(tmp_path: Path) -> None:
    (found,) = over(tmp_path, 13, ring(("(rank - step) % size", "rank")), TCP)
    assert found.wire == SIM and found.wrong.startswith("in the simulator: ")
    (found,) = over(tmp_path, 13, "import nothing_of_that_name\n", TCP)
    assert "No module named 'nothing_of_that_name'" in found.wrong


def test_where_two_results_part() -> None:
    assert differences.first([1, [2.0, (3, 4)]], [1, [2.0, [3, 4]]]) is None
    assert differences.first([1, [2.0, 3.0]], [1, [2.0, 4.0]]) == ("[1][1]", 3.0, 4.0)
    assert differences.first([0.0], [-0.0]) == ("[0]", 0.0, -0.0)
    assert differences.first([float("nan")], [float("nan")]) is None
    assert differences.first([], [1]) == ("the length of the result", 0, 1)
    assert differences.digest({"a": 1, "b": 2.0}) == differences.digest({"b": 2.0, "a": 1})
    assert differences.digest([0.1 + 0.2]) != differences.digest([0.3])


def test_only_names_that_a_function_uses_are_told() -> None:
    ours = "A = 1\n\ndef f():\n    return A\n"
    theirs = "A = 1\nB, C = [], {}\n\ndef f():\n    return A, C\n"
    assert differences.kept_by_module(theirs, ours) == [("C", 2)]
    assert differences.kept_by_module(ours, ours) == []


def test_a_lamp_with_processes_is_asked_when_all_others_are_on(tmp_path: Path) -> None:
    lessons = room(tmp_path / "room", (1,))
    check = lessons / "01_plus" / "check.py"
    check.write_text(
        check.read_text()
        + '\n\n@lamp("real wire", star=3, processes=True)\ndef real_wire():\n    assert plus(1, 1) == 2\n'
    )
    one = lesson.find(1, lessons)

    def judged(text: str, **how: bool) -> CheckVerdict:
        (tmp_path / one.file).write_text(text)
        if not how:
            return checking.check(LessonAnswer(one, tmp_path))
        verdict, answer = CheckVerdict(one), LessonAnswer(one, tmp_path)
        with answer.searched():
            checking.ask_all(verdict, answer, **how)
        return verdict

    right, wrong = "def plus(x, y):\n    return x + y\n", "def plus(x, y):\n    return 7\n"
    assert judged(right).lamps["real wire"] is True and judged(right).is_passed
    assert judged(wrong).lamps["real wire"] is None and "other lamps are on" in judged(wrong).said["real wire"]
    assert "real wire" not in judged(right, processes=False).lamps
    assert Asked(("a",), None, False, lambda: None).has_processes is False


# --------------------------------------------------------------------------------- the command


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    assert cli.main(["init", "course"]) == 0
    monkeypatch.chdir(tmp_path / "course")
    capsys.readouterr()
    return tmp_path / "course"


def said(capsys: pytest.CaptureFixture[str], *words: str, status: int) -> str:
    assert cli.main(["wire", *words]) == status
    found = capsys.readouterr()
    assert all(len(line) <= 80 for line in (found.out + found.err).splitlines())
    return " ".join((found.err if status == 2 else found.out).split())


def test_the_command_refuses_in_words(course: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "lesson 14 has no program for real wires; there are 5, 9, 13" in said(capsys, "14", status=2)
    assert "4 to be written" not in said(capsys, "13", status=2)
    assert "the first is blank 1" in said(capsys, "13", status=2)
    solved(lesson.find(13), course)
    assert "--ranks is 0; it goes from 1 to 12" in said(capsys, "13", "--ranks", "0", status=2)
    assert "--net:" in said(capsys, "13", "--net", "nowhere.json", status=2)
    assert "no network is called 'pigeon'" in said(capsys, "13", "--net", "pigeon", status=2)


def solved(one: Lesson, course: Path) -> None:
    (course / one.folder.name / one.file).write_text(one.source.solution(marks=True), encoding="utf-8")


@pytest.mark.slow
def test_the_screen(course: Path, capsys: pytest.CaptureFixture[str]) -> None:
    solved(lesson.find(13), course)
    shown = said(capsys, "13", "--net", "tcp", status=0)
    assert "wire result virtual measured" in shown and "All results are equal, bit for bit." in shown
    assert re.search(r"tcp ✔ ([0-9a-f]{8}) [\d.]+ µs [\d.]+ m?s", shown)
    assert "Virtual time counts messages" in shown and "mtdrun --nnodes 2" in shown
    mutant = next(one for one in lesson.find(13).mutants if one.name == "shares_a_variable")
    (course / "13_ring" / "ring.py").write_text(mutant.text, encoding="utf-8")
    shown = said(capsys, "13", status=1)
    assert "sim ✔" in shown and "tcp ✘" in shown and "over tcp: KeyError" in shown
    assert "FINISHED (ring.py:" in shown and "(file and mqtt: not tried)" in shown


@pytest.mark.slow
def test_ctrl_c_ends_all_processes(course: Path, tmp_path: Path) -> None:
    """A ring that never comes to its end leaves a note with each rank's number first."""
    number = "'pid%d' % __import__('os').getpid()"
    note = f"    __import__('pathlib').Path({str(tmp_path)!r}, {number}).touch()\n"
    loop = "    while dist.get_backend() != 'sim' and rank >= 0:\n        pass\n"
    text = ring((LOOP, note + loop + LOOP))
    (course / "13_ring" / "ring.py").write_text(text, encoding="utf-8")
    root = str(Path(__file__).parents[2])
    with subprocess.Popen(
        [sys.executable, "-m", "mtd", "wire", "13", "--net", "tcp"],
        cwd=course,
        text=True,
        env=os.environ | {"PYTHONPATH": root},
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        until(lambda: len(list(tmp_path.glob("pid*"))) >= 4 or process.poll() is not None)
        process.send_signal(signal.SIGINT)
        shown, _ = process.communicate(timeout=120)
    assert process.returncode == 130, shown
    assert "All its processes have ended." in " ".join(shown.split())
    for path in tmp_path.glob("pid*"):
        until(lambda pid=path.name[3:]: not is_running(int(pid)))  # type: ignore[misc]
