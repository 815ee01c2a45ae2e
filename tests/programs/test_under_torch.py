"""The promise: change the imports of a program to torch, nothing else, and it takes the same course."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.programs import playing

pytestmark = [
    pytest.mark.slow,
    pytest.mark.parity,
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed"),
]


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What each program's ranks returned under torch."""
    folder: Path = tmp_path_factory.mktemp("programs")
    for path in playing.PROGRAMS.glob("*.py"):
        text = path.read_text(encoding="utf-8")
        if path.name == "seam.py":
            shutil.copy(path, folder)
        else:
            (folder / path.name).write_text(
                text.replace("minitorch_dist", "torch"), encoding="utf-8"
            )
    script = str(Path(__file__).with_name("under_torch.py"))
    wanted = json.dumps(list(playing.SMALL.items()))
    playing.output(playing.command(script, str(folder), wanted), timeout=110)
    return json.loads((folder / "results.json").read_text())


@pytest.mark.parametrize("name", playing.SMALL)
def test_the_same_losses(name: str, theirs: Any) -> None:
    ours = playing.simulated(name, playing.SMALL[name]).results
    expected = playing.losses(name, theirs[name])
    assert len(expected) >= 2 and np.isfinite(expected).all()
    np.testing.assert_allclose(playing.losses(name, ours), expected, rtol=1e-4)
