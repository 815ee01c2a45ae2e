"""The long row of `mtd bench rpc` runs the program that is there, and its translation."""

from __future__ import annotations

from pathlib import Path

import pytest

from mtd.cli.bench import rpc_pipeline as bench
from mtd.refusals import CannotDo


@pytest.mark.slow
@pytest.mark.parametrize("beside_torch", [False, pytest.param(True, marks=pytest.mark.parity)])
def test_a_row_of_a_tiny_run(beside_torch: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if beside_torch:
        pytest.importorskip("torch")
    monkeypatch.setattr(bench, "FLAGS", ("--batch_size", "4", "--image", "32", "--num_batches", "1"))
    monkeypatch.setattr(bench, "SPLITS", (2,))
    ((row, goal),) = bench.rows(beside_torch, 1)
    assert len(row.beside(goal)) == (4 if beside_torch else 1)


def test_an_installed_package_has_no_programs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(bench, "ROOT", tmp_path)
    with pytest.raises(CannotDo, match="Clone the repository"):
        bench.programs()
