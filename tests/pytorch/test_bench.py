"""`mtd bench pytorch`: both sides compute the same numbers, and a small run says what it found."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from mtd.cli.bench import pytorch, pytorch_simulated, worker
from tests.pytorch.ranks import on_ranks

HOUSE = Path(__file__).parents[2]
ROWS = pytorch.COLLECTIVES | pytorch.TRAINING
SMALL = [row for row in pytorch.COLLECTIVES if "MB" not in row or row.endswith("-1MB")]


def _digests(rows: list[str]) -> dict[str, list[str]]:
    """A digest of what each row gives after two calls, of numbers that differ on each rank."""
    found = {}
    for row in rows:
        act, given, results = worker.prepared(torch, dist, ROWS[row])
        for tensor in given:
            numbers = torch.arange(tensor.numel(), dtype=torch.float32).reshape(tensor.shape)
            tensor.copy_((numbers % 251 + 7 * dist.get_rank()) / 17)
        for _ in range(2):
            act()
        found[row] = [sha256(tensor.numpy()).hexdigest() for tensor in results()]
    return found


@pytest.mark.parametrize("rows", [SMALL, list(pytorch.TRAINING)], ids=["collectives", "training"])
def test_each_row_gives_gloos_numbers_to_the_last_digit(rows: list[str]) -> None:
    theirs = on_ranks(_digests, 2, rows, backend="gloo")
    assert list(theirs[0]) == rows
    for wire in ("tcp", "file"):
        assert on_ranks(_digests, 2, rows, wire=wire) == theirs


def test_a_small_run_prints_ratios_and_goals_and_keeps_its_rows(tmp_path: Path) -> None:
    out = tmp_path / "found.json"
    done = subprocess.run(
        [sys.executable, "-m", "mtd", "bench", "pytorch", "--rounds", "2", "--net", "file", "--rows",
         "all_reduce-4KB,fsdp-mlp", "--out", f"{out}"],
        capture_output=True, text=True, cwd=HOUSE, env={**os.environ, "COLUMNS": "80"}, check=True,
    )  # fmt: skip
    assert "collectives, file / gloo: geometric mean" in done.stdout
    assert "training, file / gloo: geometric mean" in done.stdout and "(fsdp-mlp)" in done.stdout
    found = json.loads(out.read_text())
    assert list(found["pytorch"]) == ["all_reduce-4KB", "fsdp-mlp"]
    for row in found["pytorch"].values():
        assert list(row["cells"]) == ["gloo", "file / gloo", "processor, file"]
        assert float(row["cells"]["file / gloo"]) > 0 and float(row["cells"]["processor, file"]) > 0


def test_rows_are_chosen_by_kind_or_name_and_others_are_named() -> None:
    assert pytorch.chosen(["ddp-mlp", "training", "ranks"]) == [
        "ddp-mlp",
        *[row for row in pytorch.TRAINING if row != "ddp-mlp"],
        "ranks",
    ]
    with pytest.raises(ValueError, match="there is no 'ddp-mpl'"):
        pytorch.chosen(["ddp-mpl"])


def test_the_simulated_rows_run_the_public_command(tmp_path: Path) -> None:
    assert "ranks: 2 simulated ranks" in pytorch_simulated.ranks(tmp_path, 2)
    said = pytorch_simulated.fsdp_8b(tmp_path, 1, 2)
    assert "a step of FSDP2 on 8 virtual H100s" in said and "% apart, goal ≤ 10" in said
