"""Whatever changes inside: the same bits, the same virtual times, the same journals as before.

`frozen/frozen.json` was written by `python -m tests.distributed.frozen.program`. It is written anew
only where a change of results is what was wanted.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from minitorch_dist.launching import launch
from tests.distributed.frozen import program
from tests.fast_forms import needs_fast_forms

DATA: dict[str, Any] = json.loads(program.DATA.read_text())
every_size = pytest.mark.parametrize("size", program.SIZES)


@pytest.mark.slow
@every_size
def test_the_bits_are_those_of_before(size: int, tmp_path: Path) -> None:
    assert program.frozen_results(size, tmp_path) == DATA[str(size)]["results"]


@needs_fast_forms
@every_size
def test_simulated_runs_are_those_of_before(size: int) -> None:
    assert program.frozen_runs(size) == DATA[str(size)]["simulated"]


@every_size
def test_journals_are_those_of_before(size: int, tmp_path: Path) -> None:
    assert program.frozen_journals(size, tmp_path) == DATA[str(size)]["journals"]


WITHOUT_PLUGS = """
import sys
from minitorch_dist.distributed import prepared
from tests.distributed.frozen import program

assert prepared.binders == {}
print(program.json.dumps(program.frozen_results(3, program.Path(sys.argv[1]))))
"""


@pytest.mark.slow
def test_the_bits_are_the_same_without_the_fast_ways(tmp_path: Path) -> None:
    said = subprocess.run(
        [sys.executable, "-c", WITHOUT_PLUGS, str(tmp_path)],
        env={**os.environ, "MINITORCH_DIST_SIMPLE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(said.stdout) == DATA["3"]["results"]


@pytest.mark.slow
def test_processes_have_the_same_bits(tmp_path: Path) -> None:
    found = launch(program.all_results, 3, f"file://{tmp_path}/ranks", timeout=300)
    assert program.columns(found) == DATA["3"]["results"]["board"]
