"""The long row of `mtd bench rpc`: the ResNet50 pipeline of `programs/`, here and under PyTorch.

The same program twice, under torch with its imports changed and nothing else. Each run is three processes
with one thread each for the linear algebra; the time is the program's own, from the first batch to the
last. Here and there take turns, for each number of micro-batches.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from mtd.cli.bench.turns import TimedRow, taking_turns
from mtd.refusals import CannotDo
from transports import keeper

PROGRAM: Final = "pipeline_resnet50.py"
SPLITS: Final = (1, 2, 4, 8)
GOAL: Final = 1.6
FLAGS: Final = ("--batch_size", "24", "--image", "128", "--num_batches", "3")
ROOT: Final = Path(__file__).resolve().parents[3]
LIMIT: Final = 900.0  # seconds of one run


def programs() -> Path:
    """The folder of the programs, which belongs to the sources and is not installed."""
    found = ROOT / "programs"
    if not (found / PROGRAM).exists():
        raise CannotDo(
            f"--long runs {PROGRAM}, which is not in {found}: the programs come with the sources. Clone the repository, "
            "and start it there"
        )
    return found


def translated(folder: Path) -> Path:
    """The program for PyTorch, in a folder of its own."""
    text = (programs() / PROGRAM).read_text(encoding="utf-8")
    (folder / PROGRAM).write_text(text.replace("minitorch_dist", "torch"), encoding="utf-8")
    shutil.copy(programs() / "seam.py", folder)
    return folder


def seconds(folder: Path, split: int) -> float:
    """The time that one run of the program in this folder says that it took."""
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", PROGRAM, "--num_split", str(split), *FLAGS],
        cwd=folder,
        env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": path},
        text=True,
        capture_output=True,
        timeout=LIMIT,
        check=False,
    )
    row = re.search(rf"^\s*{split}\s+([\d.]+) s\s", done.stdout, re.MULTILINE)
    if done.returncode or row is None:
        raise RuntimeError(f"{folder / PROGRAM} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return float(row[1])


def rows(has_torch: bool, runs: int) -> Iterator[tuple[TimedRow, float]]:
    """One for each number of micro-batches, with the goal of its ratio."""
    with keeper.temporary_folder("mtd-") as name:
        folders = [f"{programs()}", *([f"{translated(Path(name))}"] if has_torch else [])]
        for split in SPLITS:
            times = taking_turns(folders, runs, lambda folder: seconds(Path(folder), split))  # noqa: B023
            yield TimedRow(f"ResNet50 pipeline, num_split {split}", times), GOAL
