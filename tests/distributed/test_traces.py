"""What is shown of an uncaught error: the script's own frames, and the words."""

from __future__ import annotations

import os
import subprocess
import sys
import traceback
from pathlib import Path

import pytest

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import launch
from minitorch_dist.distributed import traces

SCRIPT = """
import minitorch_dist as torch
import minitorch_dist.distributed as dist

def train():
    dist.all_reduce(torch.ones(2 + dist.get_rank()))

dist.init_process_group("tcp")
train()
"""


def mismatch() -> str:
    try:
        dist.all_reduce(torch.ones(2 + dist.get_rank()))
    except dist.DistError as error:
        traces.shorten(error)
        return "".join(traceback.format_exception(error))
    return ""


def test_our_own_frames_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(traces.VARIABLE, raising=False)
    for text in launch(mismatch, 2):
        assert "in mismatch" in text and "minitorch_dist/distributed/" not in text
        assert "DistMismatch: these ranks should do the same" in text
        assert "frames within minitorch_dist are left out" in text
    monkeypatch.setenv(traces.VARIABLE, "detail")
    assert all("minitorch_dist/distributed/" in text for text in launch(mismatch, 2))


def test_the_same_from_one_floor_below_is_no_cause() -> None:
    def rank() -> str:
        if dist.get_rank() == 1:
            return ""
        try:
            while True:
                dist.send(torch.ones(1), 1)
        except dist.PeerLost as error:
            traces.shorten(error)
            return "".join(traceback.format_exception(error))

    said = launch(rank, 2)[0]
    assert said.count("Traceback") == 1 and "rank 0 sends to in send" in said


def test_other_errors_stay_as_they_are() -> None:
    def rank() -> bool:
        try:
            dist.broadcast(torch.ones(1))
        except ValueError as error:
            before = error.__traceback__
            traces.shorten(error)
            return error.__traceback__ is before and not hasattr(error, "__notes__")
        return False

    assert launch(rank, 2) == [True, True]


@pytest.mark.slow
def test_the_launchers_screen(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    run = [sys.executable, "-m", "minitorch_dist.distributed.run", "--nproc-per-node=2"]
    environment = os.environ | {"PYTHONPATH": str(Path.cwd()), "OMP_NUM_THREADS": "1"}
    for more, where in (([], "<N/A> (read; --log-dir=DIR keeps it)"), (["--log-dir", str(tmp_path)], str(tmp_path))):
        ended = subprocess.run(
            [*run, *more, str(script)], capture_output=True, text=True, timeout=300, check=False, env=environment
        )
        assert ended.returncode == 1
        assert "minitorch_dist/distributed/" not in ended.stderr, ended.stderr
        assert "in train" in ended.stderr and "train.py:6" in ended.stderr
        assert f"error_file: {where}" in ended.stderr, ended.stderr
        assert "exit code 1: (" not in ended.stderr
