"""Scripts that end without destroy_process_group: what they said last arrives."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
SCRIPT = """
import atexit, sys
import minitorch_dist as torch, minitorch_dist.distributed as dist
from minitorch_dist.distributed import world

atexit.register(lambda: print(dist.get_rank(), repr(world.current().transport), flush=True))
dist.init_process_group("gloo")
x = torch.zeros(1000)
if dist.get_rank() == 0:
    for n in range(100):
        dist.send(x + n, 1)
    if "fail" in sys.argv:
        raise SystemExit(3)
else:
    for n in range(100):
        dist.recv(x, 0)
        assert x[0].item() == n
    print("all came", flush=True)
"""


@pytest.mark.parametrize("address", ["tcp://", "file://", "file://{}/medium?mode=append", "mqtt://"])
def test_what_was_said_last_arrives(address: str, tmp_path: Path) -> None:
    (tmp_path / "last.py").write_text(SCRIPT)
    where = address.format(tmp_path)
    run = [sys.executable, "-m", "minitorch_dist.distributed.run", "--nproc-per-node", "2", "--net", where]
    done = subprocess.run(
        [*run, "last.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert done.returncode == 0, done.stderr
    assert "all came" in done.stdout
    assert done.stdout.count("closed") == 2, done.stdout  # closed, and so delivered, by both
