"""What is done beside the lessons is kept, the best of it, and is in the list."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from mtd import cli
from mtd.course import achievements, contest, museum, network_game, progress, workspace
from tests.course.small import room


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("COLUMNS", "80")
    workspace.make(tmp_path / "course", room(tmp_path / "room"))
    monkeypatch.chdir(tmp_path / "course")
    return tmp_path / "course"


def kept(course: Path, of: str) -> dict[str, str]:
    return {name: one.said for name, one in progress.read(course).rooms.get(of, {}).items()}


def test_the_best_of_each_is_kept(course: Path) -> None:
    for points, said in ((1, "one"), (3, "three"), (2, "two")):
        achievements.enter("game", "lease", points, said)
    assert kept(course, "game") == {"lease": "three"}


def test_without_a_folder_nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    achievements.enter("game", "lease", 1, "one")
    assert not [*tmp_path.iterdir()]


def test_from_another_folder_it_is_kept_in_the_last_one(
    course: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.remember(course)
    monkeypatch.chdir(tmp_path)
    achievements.enter("game", "lease", 1, "one")
    assert kept(course, "game") == {"lease": "one"}


def test_what_was_done_is_in_the_list(
    course: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cli.main(["list", "--all"])
    said = capsys.readouterr().out
    assert "Beside the lessons" in said and "mtd contest" in said and "mtd capstone" in said

    (course / "mine.py").write_text(contest.TEMPLATE.format(name="mine.py"))
    assert cli.main(["contest", "mine.py", "--net", "cluster", "--size", "1KB"]) == 0
    level = network_game.load("first_come")
    moves = network_game.search(level).moves or []
    keys = keys_of(level, moves)
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{key}\n" for key in keys)))
    assert cli.main(["game", "network", "1"]) == 0
    quiz = museum.quiz(museum.exhibit("13/whole_tensor"), 7)
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{'abcd'[quiz.answer]}\n"))
    assert cli.main(["museum", "13/whole_tensor", "--find", "--seed", "7"]) == 0
    capsys.readouterr()

    cli.main(["list", "--all"])
    said = capsys.readouterr().out
    assert "all_reduce place 8 of 11" in " ".join(said.split())
    assert "1 of 8: first_come ★★★" in said
    assert f"1 of {len(museum.exhibits())}: 13/whole_tensor found" in said
    assert max(map(len, said.split("\n"))) <= 80


def keys_of(level: network_game.Level, moves: list[str]) -> list[str]:
    """The keys for these moves, by the place at which each message is shown."""
    keys = []
    for at, move in enumerate(moves):
        flight = [message.number for message in network_game.play(level, moves[:at]).flight]
        verb, _, number = move.partition(" ")
        if verb == "wait":
            keys.append("t")
            continue
        keys += {"deliver": [], "drop": ["x"], "duplicate": ["d"]}[verb]
        keys.append(str(flight.index(int(number)) + 1))
    return keys
