"""`multiprocessing.spawn` and its kin: all run, the first failure ends all, nobody is left."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import minitorch_dist.multiprocessing as mp
from minitorch_dist.multiprocessing import ending
from tests.launching import acts
from tests.launching.waiting import is_running, until

METHODS = ["spawn", "fork", "forkserver"]


def numbers(folder: Path) -> list[int]:
    return [int(path.read_text()) for path in folder.glob("pid*") if path.read_text()]


@pytest.mark.parametrize("nprocs", [1, 2, 3])
def test_each_index_runs_once(nprocs: int, tmp_path: Path) -> None:
    assert mp.spawn(acts.write, (str(tmp_path), "hello"), nprocs) is None
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == {str(i): f"{i} hello" for i in range(nprocs)}


@pytest.mark.parametrize("method", METHODS)
def test_the_first_failure_ends_the_others_and_is_raised(method: str, tmp_path: Path) -> None:
    with pytest.raises(mp.ProcessRaisedException) as caught:
        mp.start_processes(acts.fail, (1, str(tmp_path)), 3, start_method=method)
    failure = caught.value
    assert str(failure).startswith("\n\n-- Process 1 terminated with the following error:\n")
    assert "ValueError: process 1 will not go on" in str(failure)
    assert failure.error_index == 1 and failure.error_pid > 0
    assert not any(map(is_running, numbers(tmp_path)))


def test_a_long_traceback_arrives_whole() -> None:
    with pytest.raises(mp.ProcessRaisedException, match=r"x{300000}"):
        mp.start_processes(acts.fail_at_length, (), 1, start_method="fork")


@pytest.mark.parametrize("how, name", [(3, None), (-9, "SIGKILL"), (-10, "SIGUSR1")])
def test_an_exit_without_an_exception(how: int, name: str | None) -> None:
    with pytest.raises(mp.ProcessExitedException) as caught:
        mp.start_processes(acts.leave, (how,), 2, start_method="fork")
    assert (caught.value.exit_code, caught.value.signal_name) == (how, name)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.exit_code) == (str(caught.value), how)


def test_who_ignores_being_asked_is_killed() -> None:
    context = mp.start_processes(acts.ignore, (), 2, join=False, start_method="fork")
    assert context is not None
    with pytest.raises(mp.ProcessRaisedException):
        while not context.join(grace_period=0.1):
            pass


def test_without_join_a_context_is_returned(tmp_path: Path) -> None:
    context = mp.start_processes(acts.wait, (str(tmp_path),), 2, join=False, start_method="fork")
    assert context is not None
    until(lambda: len(numbers(tmp_path)) == 2)
    assert sorted(context.pids()) == sorted(numbers(tmp_path))
    assert context.join(timeout=0.01) is False
    assert "2 processes, 2 running" in repr(context)
    for process in context.processes:
        process.kill()
    with pytest.raises(mp.ProcessExitedException, match="signal SIGKILL"):
        while not context.join():
            pass
    assert context.join() is True  # again, when all is over


def test_no_process_at_all() -> None:
    assert mp.spawn(acts.write, ("",), 0) is None


def test_spawn_starts_processes_as_it_is_asked_to(tmp_path: Path) -> None:
    assert mp.spawn(lambda index: acts.write(index, str(tmp_path)), (), 1, start_method="fork") is None
    assert [path.name for path in tmp_path.iterdir()] == ["0"]


def test_functions_without_a_name_travel_as_their_code(tmp_path: Path) -> None:
    place = tmp_path

    def write(index: int, queue: Any) -> None:
        queue.put(index)
        (place / f"{index}").write_text("")
        if index > 1:
            write(index - 2, queue)

    queue = mp.get_context("spawn").SimpleQueue()
    mp.spawn(write, (queue,), 3)
    assert sorted(queue.get() for _ in range(4)) == [0, 0, 1, 2]
    mp.spawn(lambda index: (place / f"{index}").unlink(), nprocs=3)
    assert not list(place.iterdir())


def test_what_cannot_travel_is_refused_in_words() -> None:
    with Path(__file__).open() as held, pytest.raises(TypeError, match=r"TextIOWrapper.*top level of a module"):
        mp.spawn(lambda index: held.name)


ORPHANS = """
import sys
import minitorch_dist.multiprocessing as mp
from tests.launching import acts
if __name__ == "__main__":
    mp.start_processes(acts.wait, (sys.argv[1],), 2, start_method=sys.argv[2])
"""


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_nobody_outlives_who_started_them(method: str, how: int, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(ORPHANS)
    parent = subprocess.Popen(
        [sys.executable, program, tmp_path, method],
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(Path.cwd())},
        start_new_session=True,
    )
    until(lambda: len(numbers(tmp_path)) == 2)
    if how == signal.SIGINT:  # Ctrl-C reaches the whole group
        os.killpg(parent.pid, signal.SIGINT)
    else:
        parent.kill()
    parent.wait()
    until(lambda: not any(map(is_running, numbers(tmp_path))))


def test_words_for_ends() -> None:
    assert ending.words(3) == "ended with exit code 3"
    assert ending.words(-9) == "was ended by SIGKILL"
    assert ending.words(-99) == "was ended by signal 99"
    assert ending.words(None) == "is still running"
