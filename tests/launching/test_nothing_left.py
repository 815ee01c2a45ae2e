"""However a job ends, no file of it stays: neither segments, nor rings, nor folders of its launcher."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from minitorch_dist.distributed.elastic.multiprocessing.logs import PREFIX, log_folder
from minitorch_dist.distributed.elastic.multiprocessing.warden import Warden
from tests.launching.waiting import until
from transports import keeper
from transports.shared_file import signed_file

ROOT = Path(__file__).parents[2]
JOB = """
import os, pathlib, sys
import minitorch_dist as mtd, minitorch_dist.distributed as dist
def work(place, room):
    if not dist.is_initialized():
        dist.init_process_group(place)
    x = mtd.ones(100_000)
    for turn in range(10**9):
        dist.all_reduce(x.fill_(1.0))
        pathlib.Path(room, f"pid-{os.getpid()}").touch()
if __name__ == "__main__":
    how, place, room = sys.argv[1:]
    if how == "launch":
        mtd.launch(work, 2, place, (place, room))
    else:
        work(place, room)
"""
STARTS = {
    "run": ["-m", "minitorch_dist.distributed.run", "--standalone", "--nproc-per-node=2", "job.py", "run"],
    "launch": ["job.py", "launch"],
}


SHORT = "?mode=append&segment=100000"


def left_by(tmp_path: Path, how: str, options: str, blow: str) -> list[str]:
    """What a job has left in the folder of its transport and among temporary files, a while after the blow."""
    rooms = memory, temporary, pids = [tmp_path / name for name in ("memory", "temporary", "pids")]
    for room in rooms:
        room.mkdir()
    (tmp_path / "job.py").write_text(JOB)
    command = [sys.executable, *STARTS[how], f"file://{memory}/x{options}", str(pids)]
    environment = {**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as launcher:
        until(lambda: len(list(pids.iterdir())) == 2 or launcher.poll() is not None)
        ranks = [int(path.name.removeprefix("pid-")) for path in pids.iterdir()]
        assert launcher.poll() is None and len(ranks) == 2
        if blow == "rank":
            os.kill(ranks[0], signal.SIGKILL)
        else:
            launcher.send_signal(signal.Signals[blow])
    for pid in ranks:
        until(lambda pid=pid: not Path("/proc", str(pid)).exists())  # type: ignore[misc]

    def there() -> list[str]:
        return [path.name for room in (memory, temporary) for path in room.iterdir()]

    until(lambda: not there())  # a warden may be at it
    return there()


@pytest.mark.slow
@pytest.mark.spawn
@pytest.mark.parametrize(
    ("how", "options", "blow"),
    [("run", SHORT, "SIGTERM"), ("launch", SHORT, "SIGKILL"), ("run", SHORT, "SIGKILL"), ("launch", "", "rank")],
)
def test_a_job_that_is_ended_leaves_nothing(tmp_path: Path, how: str, options: str, blow: str) -> None:
    assert left_by(tmp_path, how, options, blow) == []


def test_the_next_launcher_takes_away_what_killed_ones_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    theirs = [tmp_path / f"{PREFIX}results", tmp_path / f"{PREFIX}0123456789abcdef-00000000"]
    for folder in theirs:
        folder.mkdir()
        (folder / "precious").touch()
    with log_folder(None, "id") as alive, log_folder(str(tmp_path), "id") as kept:
        dead, held = keeper.make_folder(tmp_path, PREFIX)
        (dead / "attempt_0" / "0").mkdir(parents=True)
        (dead / "attempt_0" / "0" / "error.json").write_text("{}")
        held.close()  # as the end of its process would
        with log_folder(None, "id") as fresh:
            assert not dead.exists() and alive.exists() and kept.exists() and fresh.exists()
    assert sorted(tmp_path.iterdir()) == sorted([kept, *theirs])
    assert all((folder / "precious").exists() for folder in theirs)


@pytest.mark.parametrize("mode", signed_file.MODES)
def test_a_sweep_takes_nothing_of_others(tmp_path: Path, mode: str) -> None:
    """Files and folders whose names are like ours, with other things in them, links and FIFOs."""
    number, folder = bytes(16).hex(), tmp_path / "in"
    folder.mkdir()
    names = [f"job.{number}.{mode}", f"job.results.{mode}", f"job..{mode}", f"job.{mode}"]
    for name in names:
        place = folder / name
        if mode == "append":
            place.mkdir()
            (place / "terms").write_bytes(b"terms and conditions" * 99)
        else:
            place.write_bytes(signed_file.MAGIC + b"precious" * 99)
    os.mkfifo(folder / f"job.{'1' * 32}.{mode}")
    (folder / f"job.{'2' * 32}.{mode}").symlink_to(folder / names[0])
    before = {path: path.lstat().st_ino for path in folder.rglob("*")}
    assert signed_file.sweep(folder / "job") == []
    assert {path: path.lstat().st_ino for path in folder.rglob("*")} == before


@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="who waits for a lock is read there")
def test_a_warden_waits_for_an_agent_that_is_still_ending(tmp_path: Path) -> None:
    """The pipe may end before the lock does: the system closes the files of a killed process one after the other."""
    folder, held = keeper.make_folder(tmp_path, PREFIX)
    warden = Warden(folder)
    process = warden._process
    assert process.stdin is not None
    process.stdin.close()
    waiting = re.compile(rf"-> FLOCK .* {process.pid} ")
    until(lambda: process.poll() is not None or waiting.search(Path("/proc/locks").read_text()))
    assert folder.exists()
    held.close()
    assert process.wait() == 0 and not folder.exists()


def test_a_warden_leaves_the_folder_of_an_agent_that_lives_on(tmp_path: Path) -> None:
    folder, held = keeper.make_folder(tmp_path, PREFIX)
    with held:
        Warden(folder).close()
    assert folder.exists()
