"""The page of benchmarks is made of measured rows, and `mtd bench … --out` adds such rows. (tests/notebooks: the page is that of its rows.)"""

from __future__ import annotations

import json
import sys
from datetime import date
from pathlib import Path

import pytest
from rich.table import Table

from mtd.cli.bench import comm, pytorch, record, rpc, steps

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "docs" / "generator"))
try:
    import speed_page
finally:
    sys.path.pop(0)

ROWS = json.loads(speed_page.DATA.read_text("utf-8"))


def test_each_row_has_a_date_a_machine_a_command_and_cells() -> None:
    assert list(ROWS) == [one.bench for one in speed_page.SECTIONS]
    for bench, rows in ROWS.items():
        for what, row in rows.items():
            assert set(row) == {"date", "machine", "command", "cells"}, what
            assert date.fromisoformat(row["date"]) and row["cells"], what
            assert row["command"].startswith(f"mtd bench {bench}"), what


def test_each_row_is_one_that_a_benchmark_still_has() -> None:
    assert set(ROWS["nn"]) == {title for _, _, title in steps.STEPS.values()}
    assert {what for what in ROWS["rpc"] if "ResNet50" not in what} == {said for said, _ in rpc.ROWS.values()}
    assert set(ROWS["pytorch"]) == {*pytorch.COLLECTIVES, *pytorch.TRAINING}
    assert {what.split(", ")[0] for what in ROWS["comm"]} <= {*comm.OPERATIONS, "geometric mean"}
    assert {what.split(", ")[1] for what in ROWS["train"]} <= {*steps.BATCHES}


def test_a_missed_goal_is_marked_as_the_figures_say() -> None:
    limits = {title: limit for _, limit, title in steps.STEPS.values()}
    for what, row in ROWS["nn"].items():
        goal, mark = row["cells"]["reach"].split()
        assert float(goal) == limits[what]
        assert (float(row["cells"]["ratio"]) <= float(goal)) == (mark == "✔")


def test_a_row_takes_the_place_of_its_former_one_and_leaves_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "speed.json"
    path.write_text(speed_page.DATA.read_text("utf-8"), encoding="utf-8")
    table = Table("call", "time", "ratio")
    table.add_row("rpc_sync of an int", "9 ns", "[red]2.00[/]")
    monkeypatch.setattr(sys, "argv", ["rpc", "--only", "int", "--out", str(path)])
    record.keep(path, "rpc", record.rows_of(table))
    found = json.loads(path.read_text("utf-8"))
    new = found["rpc"].pop("rpc_sync of an int")
    old = json.loads(speed_page.DATA.read_text("utf-8"))
    del old["rpc"]["rpc_sync of an int"]
    assert found == old and new["cells"] == {"time": "9 ns", "ratio": "2.00"}
    assert new["command"] == "mtd bench rpc --only int" and new["date"] == date.today().isoformat()
    assert new["machine"] and "\n" not in new["machine"]


def test_data_files_keep_their_form() -> None:
    assert record.kept(speed_page.DATA, "nn", {}) == speed_page.DATA.read_text("utf-8")
