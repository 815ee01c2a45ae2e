"""The script of the golden run takes its recorded course alone, on many ranks, after a stop, and under torch."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from minitorch_dist import sim
from minitorch_dist.course import lesson

FOLDER = lesson.find("golden_run").folder
RECORD = json.loads((FOLDER / "golden.json").read_text())


def script() -> Any:
    spec = importlib.util.spec_from_file_location("golden_train", FOLDER / "train.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [1, 2, 3, 5, 8])
def test_any_number_of_ranks(ranks: int, capsys: pytest.CaptureFixture[str]) -> None:
    for losses, weights in sim.run(script().main, ranks, (["--steps", "40"],)).results:
        assert losses == RECORD["losses"][:40]
        assert weights[19::20] == RECORD["weights"][:2]
    assert f"{ranks} rank{'s' * (ranks > 1)}, weights " in capsys.readouterr().out


def test_from_a_checkpoint(tmp_path: Path) -> None:
    saved = ["--every", "5", "--checkpoint", str(tmp_path / "run.pt")]
    begun = sim.run(script().main, 2, (["--steps", "7", *saved],)).results
    rest = sim.run(script().main, 3, (["--steps", "12", *saved],)).results
    assert begun[0][0] == RECORD["losses"][:7]
    assert all(losses == RECORD["losses"][5:12] for losses, _ in rest)


@pytest.mark.slow
@pytest.mark.parity
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
def test_the_same_bits_under_torch(tmp_path: Path) -> None:
    """Changed imports, nothing else."""
    text = (FOLDER / "train.py").read_text("utf-8").replace("minitorch_dist", "torch")
    (tmp_path / "train.py").write_text(text, encoding="utf-8")
    program = "import json, train; print(json.dumps(train.main([])))"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=300,
        env={**os.environ, "PYTHONPATH": str(tmp_path), "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    losses, weights = json.loads(done.stdout.splitlines()[-1])
    assert losses == RECORD["losses"]
    assert weights[19::20] == RECORD["weights"]
