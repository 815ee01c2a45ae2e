"""The promise: change the imports of a program to torch, nothing else, and it takes the same course."""

from __future__ import annotations

import functools
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


TOGETHER = 4  # programs that one process of torch plays, before a test's time is over
FLAGS = playing.SMALL | playing.FIFTY
NAMES = list(FLAGS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs with their imports changed to torch."""
    made = tmp_path_factory.mktemp("programs")
    for path in playing.PROGRAMS.glob("*.py"):
        text = path.read_text(encoding="utf-8")
        if path.name == "seam.py":
            shutil.copy(path, made)
        else:
            (made / path.name).write_text(text.replace("minitorch_dist", "torch"), encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def theirs(folder: Path) -> Any:
    """A function that says what each program's ranks returned under torch."""

    @functools.cache
    def played(first: int) -> Any:
        script = str(Path(__file__).with_name("under_torch.py"))
        wanted = [(name, FLAGS[name]) for name in NAMES[first : first + TOGETHER]]
        playing.output(playing.command(script, str(folder), json.dumps(wanted)), timeout=110)
        return json.loads((folder / "results.json").read_text())

    def of(name: str) -> Any:
        return played(NAMES.index(name) // TOGETHER * TOGETHER)[name]

    return of


@pytest.mark.parametrize("name", NAMES)
def test_the_same_losses(name: str, theirs: Any) -> None:
    ours = playing.simulated(name, FLAGS[name]).results
    expected = playing.losses(name, theirs(name))
    assert len(expected) >= (50 if name in playing.FIFTY else 2) and np.isfinite(expected).all()
    np.testing.assert_allclose(playing.losses(name, ours), expected, rtol=1e-4)
