"""Each lesson's bridge prints the same in torch and, with the imports changed, here: on each of three ranks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from mtd.course import lesson
from mtd.course.bridging import SIZE
from tests.launching.waiting import until
from tests.parity import oracle
from tests.ports import free_port

pytestmark = [pytest.mark.parity, pytest.mark.slow, pytest.mark.timeout(2000)]

BRIDGES = [one.folder.name for one in lesson.all_lessons() if one.bridge]
SECONDS = 600  # for each attempt; a process imports torch once, and runs all bridges
ROOT = str(Path(__file__).parents[2])


def printed(library: str, folder: Path) -> list[dict[str, str]]:
    """By rank: what each bridge printed."""
    there = tempfile.mkdtemp(dir=folder)
    words = [f"{name}:{free_port()}" for name in BRIDGES]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": ROOT}
    command = [sys.executable, "-W", "ignore", "-m", "tests.parity.bridge_program", library]
    workers = [subprocess.Popen([*command, str(rank), there, *words], env=environment) for rank in range(SIZE)]
    try:
        until(lambda: any(one.poll() for one in workers) or all(one.poll() == 0 for one in workers), SECONDS)
        codes = [one.poll() for one in workers]
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
    if codes != [0] * SIZE:
        raise oracle.TorchFailed(f"the ranks of the bridges in {library} ended with {codes}")
    return [json.loads(Path(there, f"{rank}.json").read_text("utf-8")) for rank in range(SIZE)]


def test_each_bridge_prints_the_same_here(tmp_path: Path) -> None:
    theirs = oracle.asked(lambda: printed("torch", tmp_path))
    ours = printed("minitorch_dist", tmp_path)
    for name in BRIDGES:
        there, here = [one[name] for one in theirs], [one[name] for one in ours]
        assert here == there, f"{name} prints {here}, and in torch {there}"
        assert any(there), f"{name} prints nothing"
