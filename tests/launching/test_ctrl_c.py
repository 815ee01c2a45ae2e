"""Ctrl-C at any instant of our processes' lives: who started them says so, nobody else says a word."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from minitorch_dist.multiprocessing.sigint import without_sigint
from tests.launching.waiting import until

ROOT = Path(__file__).parents[2]
LAUNCHED = """
import os, pathlib, sys, time
folder = pathlib.Path(sys.argv[1])
def stay(index=0, turns=10**9):
    (folder / f"run{os.getpid()}").touch()
    for turn in range(turns):
        time.sleep(0.01)
if __name__ == "__mp_main__":  # as a child imports it
    (folder / f"imp{os.getpid()}").touch()
    time.sleep(0.3)
import minitorch_dist as torch
from minitorch_dist.utils.data import DataLoader
class Slow:
    def __len__(self): return 9
    def __getitem__(self, index): stay(index)
if __name__ == "__main__":
    try:
        START
    except KeyboardInterrupt:
        print("interrupted")
"""
STARTS = {
    "launch": "torch.launch(stay, 2, 'tcp://')",
    "spawn": "torch.multiprocessing.spawn(stay, nprocs=2)",
    "loader": "list(DataLoader(Slow(), num_workers=2, multiprocessing_context='spawn'))",
}
SCRIPT = LAUNCHED.replace('"__mp_main__"', '"__main__"').replace("START", "stay()")


def interrupted(folder: Path, instant: str, *command: object) -> subprocess.CompletedProcess[str]:
    """The program, with all that it started, hears Ctrl-C as from a terminal when it has come so far."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        [sys.executable, *map(str, command)],
        env=environment,
        start_new_session=True,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        until(lambda: list(folder.glob(f"{instant}*")) or process.poll() is not None)
        os.killpg(process.pid, signal.SIGINT)
        said, complaints = process.communicate(timeout=300)
    for path in folder.glob("[ir]*"):
        until(lambda pid=path.name[3:]: not Path("/proc", pid).exists())  # type: ignore[misc]
    return subprocess.CompletedProcess(command, process.returncode, said, complaints)


@pytest.mark.slow
@pytest.mark.parametrize("instant", ["imp", "run"])
@pytest.mark.parametrize("how", STARTS)
def test_children_say_nothing(how: str, instant: str, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(LAUNCHED.replace("START", STARTS[how]))
    done = interrupted(tmp_path, instant, program, tmp_path)
    assert (done.stdout, done.stderr, done.returncode) == ("interrupted\n", "", 0)


@pytest.mark.slow
@pytest.mark.parametrize("instant", ["imp", "run"])
def test_the_agent_says_one_line(instant: str, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(SCRIPT.replace("try:", "if True:").replace("except KeyboardInterrupt", "if 0"))
    done = interrupted(
        tmp_path,
        instant,
        "-m",
        "minitorch_dist.distributed.run",
        "--standalone",
        "--nproc-per-node",
        2,
        program,
        tmp_path,
    )
    assert done.returncode == 130 and done.stdout == ""
    assert done.stderr.count("\n") == 1 and "got signal: SIGINT" in done.stderr


def test_who_starts_them_hears_it_when_all_are_started() -> None:
    steps = []
    with pytest.raises(KeyboardInterrupt):
        with without_sigint():
            os.kill(os.getpid(), signal.SIGINT)
            steps.append("all")
        steps.append("never")
    assert steps == ["all"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_another_thread_may_start_some_too(method: str) -> None:
    found: list[object] = []

    def start() -> None:
        with without_sigint(method):
            found.append(signal.pthread_sigmask(signal.SIG_BLOCK, ()))
        found.append(signal.pthread_sigmask(signal.SIG_BLOCK, ()))

    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    assert found == [{signal.SIGINT}, set()] and signal.getsignal(signal.SIGINT) is before
