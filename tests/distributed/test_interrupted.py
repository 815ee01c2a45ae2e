"""Ctrl-C in the middle of training: no process, thread, socket or file is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SHARED = Path("/dev/shm")
PROGRAM = """
import threading
import minitorch_dist as torch
import minitorch_dist.distributed as dist

def train():
    x = torch.ones(10_000)
    for turn in range(10**9):
        dist.all_reduce(x)
        if turn == 3 and dist.get_rank() == 0:
            print("training", flush=True)

if __name__ == "__main__":
    try:
        torch.launch(train, 3, "ADDRESS")
    except KeyboardInterrupt:
        print("interrupted", threading.active_count(), flush=True)
"""


def alive(mark: str) -> list[str]:
    """The processes, of any session, whose environment holds the mark."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                if mark.encode() in (folder / "environ").read_bytes():
                    found.append((folder / "cmdline").read_text().replace("\0", " ")[:200])
            except OSError:  # it has just ended
                continue
    return found


def shared() -> set[Path]:
    """Our files in shared memory, of every process of this machine."""
    return {path for path in SHARED.glob("*") if "minitorch" in path.name}


def is_used(path: Path) -> bool:
    """Whether a living process maps it or has it open: a test beside this one, that is."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                if str(path) in (folder / "maps").read_text():
                    return True
                if any(str(link.readlink()) == str(path) for link in (folder / "fd").iterdir()):
                    return True
            except OSError:  # it has just ended
                continue
    return not path.exists()


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
@pytest.mark.parametrize("address", ["queue://", "sim://", "tcp://", "file://", "mqtt://"])
def test_ctrl_c_leaves_nothing_behind(address: str, tmp_path: Path) -> None:
    program, folder, mark = tmp_path / "train.py", tmp_path / "temporary", uuid.uuid4().hex
    program.write_text(PROGRAM.replace("ADDRESS", address))
    folder.mkdir()
    before = shared()
    environment = os.environ | {
        "PYTHONPATH": str(ROOT),
        "TMPDIR": str(folder),
        "MARK": mark,
        "OMP_NUM_THREADS": "1",
        "PYTHONUNBUFFERED": "1",
    }
    with subprocess.Popen(
        [sys.executable, program],
        env=environment,
        start_new_session=True,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline() == "training\n", process.stderr.read()
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does it: to all of the foreground
        said, complaints = process.communicate(timeout=300)
    assert (said, complaints, process.returncode) == ("interrupted 1\n", "", 0)
    until = time.monotonic() + 300
    while left := alive(mark):  # a broker ends when it has noticed that its last client has
        assert time.monotonic() < until, left
        time.sleep(0.05)
    assert list(folder.iterdir()) == []
    while left := [path for path in shared() - before if not is_used(path)]:
        assert time.monotonic() < until, left  # another test's may be on its way in or out
        time.sleep(0.05)
