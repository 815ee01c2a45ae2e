"""How long a whole run may take, and how long an operation may wait, with and without init_process_group."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import launch, sim
from minitorch_dist.launching.limit import OutOfTime, alarmed, report
from transports.clock import SYSTEM


def nothing_comes() -> None:
    """Rank 0 awaits what rank 1 never sends, since it awaits something, too."""
    dist.init_process_group("gloo")
    dist.recv(torch.empty(1), (dist.get_rank() + 1) % dist.get_world_size())


@pytest.mark.parametrize("size", [2, 3, 5])
def test_ranks_that_are_threads_are_named_with_their_places(size: int) -> None:
    """All of them, once the limit is long enough that all have begun."""
    for limit in (0.05, 0.5, 5, 50):
        with pytest.raises(OutOfTime, match=rf"longer than the {limit} s that") as caught:
            launch(nothing_comes, size, limit=limit)
        if len(re.findall(r"rank \d at test_limit.py:\d+", str(caught.value))) == size:
            break
    for rank in range(size):
        assert re.search(rf"rank {rank} at test_limit.py:\d+", str(caught.value))


@pytest.mark.slow
@pytest.mark.parametrize("transport", ["tcp://", "file://"])
def test_ranks_that_are_processes_are_ended(transport: str) -> None:
    with pytest.raises(OutOfTime, match=r"Not at their end: rank 0.*, rank 1"):
        launch(nothing_comes, 2, transport, limit=1)


def test_an_alarm_interrupts_what_a_rank_does() -> None:
    with pytest.raises(OutOfTime, match=r"test_limit.py:\d+: the run took") as caught, alarmed(0.01):
        SYSTEM.sleep(1000)
    assert caught.value.where.startswith("test_limit.py:")
    with alarmed(1000):
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 0
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0  # nothing rings afterwards
    with pytest.raises(OutOfTime), alarmed(5, begun=0):  # it began long ago
        SYSTEM.sleep(1000)


def test_an_alarm_is_told_though_interrupted_code_made_another_error_of_it() -> None:
    """Python's own `Thread.start` does so, and numpy while it is imported."""
    with pytest.raises(OutOfTime, match="the run took") as caught, alarmed(0.01):
        try:
            SYSTEM.sleep(1000)
        finally:
            {}.pop("a thread that has begun already")
    assert isinstance(caught.value.__cause__, KeyError)
    with pytest.raises(KeyError), alarmed(1000):
        {}.pop("an error of the program")


def test_ranks_that_had_ended_are_not_named() -> None:
    said = str(report(3, [None, "", "a.py:3"]))
    assert "Not at their end: rank 1, rank 2 at a.py:3." in said


@pytest.mark.parametrize("engine", ["threads", "auto"])
@pytest.mark.parametrize("size", [2, 3, 5])
def test_a_launchers_timeout_holds_in_a_script_that_begins_as_all_do(size: int, engine: str) -> None:
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
)
def test_commands_end_a_script_that_sleeps(command: list[str], words: str, tmp_path: Path) -> None:
    script = tmp_path / "sleeps.py"
    script.write_text(SCRIPT)
    done = subprocess.run([sys.executable, "-m", *command, str(script)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 1 and words in done.stderr, done.stderr
