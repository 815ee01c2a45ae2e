"""`mtd run --net`: a script of PyTorch's on processes that our launcher starts, over the wire that was asked for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import sys
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
tensor = torch.ones(1)
dist.all_reduce(tensor)
print(dist.get_backend(), dist.group.WORLD.ours.world.transport.scheme, tensor.item(), flush=True)
if len(sys.argv) > 1 and dist.get_rank() == 0:
    dist.broadcast(tensor, 0)
dist.barrier()
"""


@pytest.fixture
def script(tmp_path: Path) -> str:
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    return str(path)


def _run(net: str, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mtd", "run", "--ranks", "2", "--net", net, *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def test_its_groups_are_ours_whatever_it_calls_them(script: str) -> None:
    ran = _run("file://", script)
    assert (ran.returncode, ran.stdout) == (0, "gloo file 2.0\n" * 2), ran.stderr


def test_a_mismatch_is_told_with_the_scripts_lines(script: str) -> None:
    ran = _run("tcp://", script, "bad")
    assert ran.returncode == 1 and "broadcast #1" in ran.stderr and "script.py:12" in ran.stderr
    assert "at distributed_c10d.py" not in ran.stderr


def test_ranks_that_are_threads_are_refused_in_words(script: str) -> None:
    ran = _run("queue://", script)
    assert ran.returncode != 0 and "say --net tcp, or --net sim" in " ".join(ran.stderr.split())
