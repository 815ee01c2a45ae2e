"""Two saves into one folder, and readers beside one that saves: all that is reported as saved loads whole."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from minitorch_dist.distributed.checkpoint import folder, writing
from tests.distributed.checkpoint.test_folders import load, parts, save
from transports import keeper


@pytest.mark.parametrize("step", ["write_part", "write_index"])
def test_a_whole_save_within_another(step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if another job saved three times while this one writes."""
    save(tmp_path, 1)
    right = getattr(writing, step)

    def between(*args: Any) -> Any:
        done = right(*args) if step == "write_part" else None
        monkeypatch.setattr(writing, step, right)
        for turn in (2, 3, 4):
            save(tmp_path, turn)
            assert load(tmp_path) == turn
        return done or right(*args)

    monkeypatch.setattr(writing, step, between)
    save(tmp_path, 5)
    assert load(tmp_path) == 5
    save(tmp_path, 6)
    assert load(tmp_path) == 6 and len(parts(tmp_path)) == 2


def test_threads_that_save_into_one_folder(tmp_path: Path) -> None:
    errors: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for turn in range(4):
                save(tmp_path, 10 * number + turn)
                load(tmp_path)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 6)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not errors
    load(tmp_path)
    save(tmp_path, 1)
    save(tmp_path, 2)
    assert load(tmp_path) == 2 and len(keeper.names(tmp_path)) == 3


@pytest.mark.parametrize("saves", [1, 2, 3])
def test_a_reader_that_has_read_the_index_when_others_save(
    saves: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(tmp_path, 1)
    read = folder.read_index
    left = [True]

    def late(place: Path) -> Any:
        found = read(place)
        if left and not left.clear():  # type: ignore[func-returns-value]
            for turn in range(2, 2 + saves):
                save(tmp_path, turn)
        return found

    monkeypatch.setattr(folder, "read_index", late)
    turn = load(tmp_path)
    assert turn == (1 if saves == 1 else 1 + saves)  # one old generation is there, two are not


def test_a_reader_that_has_its_files_open_when_others_save(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(tmp_path, 1)
    check = folder.Checkpoint.check_bytes

    def late(self: folder.Checkpoint, *args: Any, check: Any = check) -> None:
        check(self, *args)
        monkeypatch.setattr(folder.Checkpoint, "check_bytes", check)
        for turn in (2, 3, 4):
            save(tmp_path, turn)

    monkeypatch.setattr(folder.Checkpoint, "check_bytes", late)
    assert load(tmp_path) in (1, 4)


WORKER = """
import sys
from pathlib import Path
from tests.distributed.checkpoint.test_folders import load, save
place, role, number = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
if role == "save":
    for turn in range(25):
        save(place, 100 * number + turn)
        load(place)
    print("done")
else:
    count = 0
    while not (place / "over").exists():
        load(place)
        count += 1
    print(count)
"""


@pytest.mark.slow
def test_processes_that_save_and_read(tmp_path: Path) -> None:
    save(tmp_path, 1)
    roles = [("save", 1), ("save", 2), ("read", 3), ("read", 4)]
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, tmp_path, role, str(number)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for role, number in roles
    ]
    try:
        said = [worker.communicate() for worker in workers[:2]]
        (tmp_path / "over").write_text("")
        said += [worker.communicate() for worker in workers[2:]]
    finally:
        for worker in workers:
            worker.kill()
    assert [worker.returncode for worker in workers] == [0] * 4, said
    assert all(int(out) > 0 for out, _ in said[2:])
    save(tmp_path, 1)
    save(tmp_path, 2)
    assert load(tmp_path) == 2 and len(keeper.names(tmp_path)) == 4
