"""The script of the golden run takes its recorded course alone, on many ranks, after a stop, and under torch."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minitorch_dist as mtd
import minitorch_dist.distributed as dist
from minitorch_dist import optim, sim
from mtd.course import lesson
from tests.deep import some_of

FOLDER = lesson.find("golden_run").folder
RECORD = json.loads((FOLDER / "golden.json").read_text())


def script() -> Any:
    spec = importlib.util.spec_from_file_location("golden_train", FOLDER / "train.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def is_recorded(losses: list[float], weights: list[list[float]]) -> bool:
    """The first steps of the record, as far as these go."""
    return losses == RECORD["losses"][: len(losses)] and all(
        found == wanted for found, wanted in zip(weights[19::20], RECORD["weights"], strict=False)
    )


Bend = Callable[[int, list[Any]], None]


def stepping(bend: Bend) -> Callable[[pytest.MonkeyPatch, Any], list[str]]:
    """The script, whose optimizer gets bent gradients: `bend(step, parameters)`, where the last step is number 20."""

    def plant(monkeypatch: pytest.MonkeyPatch, made: Any) -> list[str]:
        class Bent(optim.SGD):
            number = 0

            def step(self, closure: Any = None) -> Any:
                self.number += 1
                bend(self.number, [p for group in self.param_groups for p in group["params"]])
                return super().step(closure)

        monkeypatch.setattr(optim, "SGD", Bent)
        return []

    return plant


def everywhere(how: Callable[[Any], Any], only: int = 0) -> Callable[..., list[str]]:
    def bend(step: int, parameters: list[Any]) -> None:
        for p in parameters:
            if only in (0, step):
                p.grad.array[...] = how(p.grad.array)

    return stepping(bend)


def to_type(dtype: Any) -> Callable[..., list[str]]:
    return everywhere(lambda grad: mtd.from_numpy(grad.copy()).to(dtype).double().numpy())


def to_14_bits(grad: Any) -> Any:
    mantissa, exponent = np.frexp(grad)
    return np.ldexp(np.rint(mantissa * 2.0**14) / 2.0**14, exponent)


def by_one_rank_less(grad: Any) -> Any:
    return grad * dist.get_world_size() / (dist.get_world_size() - 1)


def one_element(step: int, parameters: list[Any]) -> None:
    if step == 20:
        grad = parameters[2].grad.array
        grad[0, np.abs(grad).argmax()] *= 1 + 1e-9


def loses(step: int) -> Callable[..., list[str]]:
    """The last rank drops a sample of its share in this step."""

    def plant(monkeypatch: pytest.MonkeyPatch, made: Any) -> list[str]:
        right, counts = made.loss_of, [0] * 8

        def loss_of(model: Any, x: Any, y: Any) -> Any:
            rank = dist.get_rank()
            if len(x) < made.SAMPLES:  # a share, and not all samples
                counts[rank] += 1
                if counts[rank] == step and rank == dist.get_world_size() - 1:
                    x, y = x[1:], y[1:]
            return right(model, x, y)

        monkeypatch.setattr(made, "loss_of", loss_of)
        return []

    return plant


def drifts(step: int, parameters: list[Any]) -> None:
    """A velocity, seen from the gradient that is added to it: it loses a ten millionth once."""
    if step == 12:
        parameters[0].grad.array[3] -= 1e-7 * parameters[0].grad.array[3]


FAULTS = {
    "a rate 1e-5 too large": lambda *_: ["--lr", repr(0.125 * (1 + 1e-5))],
    "a momentum 1e-7 too small": lambda *_: ["--momentum", repr(0.875 * (1 - 1e-7))],
    "a velocity that drifts": stepping(drifts),
    "float32": to_type(mtd.float32),
    "float16": to_type(mtd.float16),
    "bfloat16": to_type(mtd.bfloat16),
    "14 bits": everywhere(to_14_bits),
    "1 + 1e-4": everywhere(lambda grad: grad * (1 + 1e-4)),
    "1 + 1e-9 in the last step": everywhere(lambda grad: grad * (1 + 1e-9), only=20),
    "one element in the last step": stepping(one_element),
    "divided by one rank less": everywhere(by_one_rank_less),
    **{f"a sample lost in step {step}": loses(step) for step in (1, 7, 13, 18, 19, 20)},
}


PLACES = [(fault, ranks) for fault in FAULTS for ranks in (2, 3, 5, 8)]
TURNS = [4 * number + number % 3 for number in range(len(FAULTS))]  # each fault at 2, 3 or 5 ranks


@pytest.mark.parametrize(("fault", "ranks"), some_of(PLACES, *TURNS))
def test_a_fault_of_any_size_is_in_the_record(fault: str, ranks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    made = script()
    arguments = ["--steps", "20", "--every", "100", *FAULTS[fault](monkeypatch, made)]
    for losses, weights in sim.run(made.main, ranks, (arguments,)).results:
        assert len(losses) == 20 and not is_recorded(losses, weights)


def test_a_fault_in_the_very_last_step_is_in_the_record(monkeypatch: pytest.MonkeyPatch) -> None:
    def bend(step: int, parameters: list[Any]) -> None:
        if step == 160:
            parameters[1].grad.array[7] *= 1 + 1e-9

    assert is_recorded(*script().main(["--every", "1000"]))
    stepping(bend)(monkeypatch, None)
    assert not is_recorded(*script().main(["--every", "1000"]))


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
        [sys.executable, "-c", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": str(tmp_path), "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    losses, weights = json.loads(done.stdout.splitlines()[-1])
    assert losses == RECORD["losses"]
    assert weights[19::20] == RECORD["weights"]
