"""A rank that raises tells the others what and where, before it leaves; nobody waits for it."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist.launching import launch
from transports.clock import SYSTEM

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]


def train(folder: str, failing: int) -> None:
    """Rank `failing` fails in its third step, while the others are in a collective or in recv."""
    me = dist.get_rank()
    group = dist.new_group([0, failing])
    try:
        for step in range(10**6):
            if me == failing and step == 3:
                raise KeyError("a key that is not there")
            dist.all_reduce(torch.ones(10))
            if me == 0 and step == 2:
                dist.barrier(group)  # in another group than the others
    except dist.DistError as error:
        (Path(folder) / f"{me}").write_text(f"{type(error).__name__}\n{error}")
    got = torch.zeros(1)
    if me != failing:
        deadline = SYSTEM.deadline(60)
        try:  # and what comes later
            while not deadline.is_over():
                dist.recv(got, failing)
        except dist.PeerLost as error:
            (Path(folder) / f"later-{me}").write_text(str(error))


@pytest.mark.parametrize("transport", ["tcp://", "file://"])
def test_everybody_hears_what_it_raised(transport: str, tmp_path: Path) -> None:
    with pytest.raises(KeyError):
        launch(train, 3, transport, args=(str(tmp_path), 1))
    for rank in (0, 2):
        kind, text = (tmp_path / f"{rank}").read_text().split("\n", 1)
        assert kind == "PeerFailed" and text.startswith("rank 1 raised KeyError: 'a key that is"), text
        assert "Traceback (most recent call last)" in text and "test_failing.py" in text
        assert 'raise KeyError("a key that is not there")' in text
        later = (tmp_path / f"later-{rank}").read_text()
        assert "rank 1 is lost" in later and "after it had raised KeyError: 'a key that" in later


PROGRAM = """
import minitorch_dist as torch
import minitorch_dist.distributed as dist
dist.init_process_group("gloo")
for step in range(10**6):
    if dist.get_rank() == 2 and step == 3:
        raise ValueError("of rank 2")
    dist.all_reduce(torch.ones(10))
"""


def test_scripts_that_nobody_launched(tmp_path: Path) -> None:
    """The excepthook tells it; each line of each traceback is signed."""
    program = tmp_path / "train.py"
    program.write_text(PROGRAM)
    with contextlib.closing(dist.TCPStore("127.0.0.1", 0, is_master=True)) as free:
        port = free.port
    processes = [
        subprocess.Popen(
            [sys.executable, program],
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ
            | {
                "RANK": f"{rank}",
                "WORLD_SIZE": "3",
                "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": f"{port}",
                "PYTHONPATH": str(ROOT),
                "OMP_NUM_THREADS": "1",
            },
        )
        for rank in range(3)
    ]
    said = [process.communicate(timeout=300)[1] for process in processes]
    assert [process.returncode for process in processes] == [1, 1, 1]
    assert "[rank2]: ValueError: of rank 2" in said[2]
    for rank in (0, 1):
        assert f"[rank{rank}]: " in said[rank] and "PeerFailed: rank 2 raised ValueError: of rank 2" in said[rank]
        assert 'raise ValueError("of rank 2")' in said[rank] and "train.py" in said[rank]
