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


# Real torch in the simulator has no RPC. Of three numbers the order of additions is another than gloo's.
WITHOUT_RPC = [name for name in NAMES if "rpc" not in (playing.PROGRAMS / f"{name}.py").read_text("utf-8")]
ON_TWO_RANKS = {
    name: f"{FLAGS[name]} --world_size 2" for name in ("ddp_basic", "ddp_checkpoint", "hand_averaged_sgd")
} | {"llama_4d": f"{FLAGS['llama_4d']} --world_size 2 --pipeline 2 --context 1 --tensor 1"}


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


def _played(script: str, folder: Path, result: str, wanted: list[tuple[str, str]]) -> Any:
    path = str(Path(__file__).with_name(script))
    playing.output(playing.command(path, str(folder), json.dumps(wanted)), timeout=300)
    return json.loads((folder / result).read_text())


def _simulated(folder: Path, wanted: list[tuple[str, str]]) -> Any:
    return _played("simulated_torch.py", folder, "simulated.json", wanted)


@pytest.mark.timeout(900)
def test_real_torch_on_simulated_ranks_gives_gloos_losses_to_the_last_digit(folder: Path, theirs: Any) -> None:
    wanted = [(name, ON_TWO_RANKS.get(name, FLAGS[name])) for name in WITHOUT_RPC]
    found = _simulated(folder, wanted)
    expected = {name: theirs(name) for name in WITHOUT_RPC if name not in ON_TWO_RANKS}
    expected |= _played("under_torch.py", folder, "results.json", [*ON_TWO_RANKS.items()])
    for name in WITHOUT_RPC:
        assert playing.losses(name, found[name]) == playing.losses(name, expected[name]), name


@pytest.mark.timeout(900)
def test_on_more_ranks_only_the_order_of_additions_differs(folder: Path, theirs: Any) -> None:
    found = _simulated(folder, [(name, FLAGS[name]) for name in ON_TWO_RANKS])
    for name in ON_TWO_RANKS:
        ours, expected = playing.losses(name, found[name]), playing.losses(name, theirs(name))
        np.testing.assert_allclose(ours, expected, rtol=1e-6, err_msg=name)
