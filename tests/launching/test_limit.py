"""How long a whole run may take, and how long an operation may wait, with and without init_process_group."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import launch, sim
from minitorch_dist.launching.limit import OutOfTime


def nothing_comes() -> None:
    """Rank 0 awaits what rank 1 never sends, since it awaits something, too."""
    dist.init_process_group("gloo")
    dist.recv(torch.empty(1), (dist.get_rank() + 1) % dist.get_world_size())


@pytest.mark.parametrize("size", [2, 3, 5])
def test_ranks_that_are_threads_are_named(size: int) -> None:
    late = ", ".join(f"rank {rank}" for rank in range(size))
    with pytest.raises(OutOfTime, match=rf"longer than the 0.05 s that .* their end: {late}\."):
        launch(nothing_comes, size, limit=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("transport", ["tcp://", "file://"])
def test_ranks_that_are_processes_are_ended(transport: str) -> None:
    with pytest.raises(OutOfTime, match=r"Not at their end: rank 0.*, rank 1"):
        launch(nothing_comes, 2, transport, limit=1)


@pytest.mark.parametrize("engine", ["threads", "auto"])
@pytest.mark.parametrize("size", [2, 3, 5])
def test_a_launchers_timeout_holds_in_a_script_that_begins_as_all_do(
    size: int, engine: str
) -> None:
    """And spans of a simulation are said to be of virtual time."""
    with pytest.raises(dist.DistError, match=r"waited 7.0 s of virtual time for rank"):
        sim.run(nothing_comes, size, timeout=7, endless=None, engine=engine)

    def one_is_missing() -> None:
        dist.init_process_group("gloo")
        if dist.get_rank():
            dist.all_reduce(torch.ones(1))
        else:
            sim.compute("60s")

    with pytest.raises(dist.DistError, match=r"waited 7.0 s of virtual time"):
        sim.run(one_is_missing, size, timeout=7, engine=engine)


def test_a_simulated_run_has_a_limit_of_virtual_time() -> None:
    with pytest.raises(dist.DistError, match="beyond its limit, 5 s of virtual time"):
        sim.run(lambda: sim.compute("60s"), 3, limit=5)


SCRIPT = """
import time, minitorch_dist.distributed as dist
dist.init_process_group("gloo")
time.sleep(1000)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["mtd", "run", "--ranks", "3", "--timeout", "5"], "5 s of virtual time"),
        (["mtd", "run", "--ranks", "2", "--net", "queue", "--timeout", "1"], "the 1 s that"),
        (["mtd", "run", "--ranks", "2", "--net", "tcp", "--timeout", "1"], "the 1 s that"),
    ],
)  # fmt: skip
def test_commands_end_a_script_that_sleeps(command: list[str], words: str, tmp_path: Path) -> None:
    script = tmp_path / "sleeps.py"
    script.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "-m", *command, str(script)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 1 and words in done.stderr, done.stderr
