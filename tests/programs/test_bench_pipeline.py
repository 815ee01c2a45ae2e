"""The long row of `mtd bench rpc` runs the program that is there, and its translation."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from rich.table import Table

from minitorch_dist.cli.bench import rpc_pipeline as bench

HAS_TORCH = importlib.util.find_spec("torch") is not None


@pytest.mark.slow
def test_a_row_of_a_tiny_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        bench, "FLAGS", ("--batch_size", "4", "--image", "32", "--num_batches", "1")
    )
    monkeypatch.setattr(bench, "SPLITS", (2,))
    table = Table()
    for heading in ("call", "time", *(("torch", "ratio", "goal") if HAS_TORCH else ())):
        table.add_column(heading)
    bench.measure(table, HAS_TORCH, 1)
    assert table.row_count == 1


def test_an_installed_package_has_no_programs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(bench, "ROOT", tmp_path)
    with pytest.raises(SystemExit, match="Clone the repository"):
        bench.programs()
