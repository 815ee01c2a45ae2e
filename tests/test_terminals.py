"""The output of a command is whole on narrow terminals, and with a locale that has no letters but ASCII."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console
from rich.table import Table
from rich.text import Text

from mtd import cli
from mtd.cli.page import Page, fitting

BARE = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def words(text: str) -> list[str]:
    return re.findall(r"[\w.:%×]+", text)


NARROW = [
    "simulate all_reduce --ranks 3",
    "simulate all_reduce --ranks 64 --size 100MB",
    "papers bounded_delay",
    "museum 13",
    "help",
    "zoo",
    "list",
    "list --all",
]


@pytest.mark.parametrize("columns", [20, 40, 60, 80])
@pytest.mark.parametrize("command", NARROW)
def test_a_narrow_terminal_shows_every_figure(
    command: str, columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = []
    for width in (columns, 500):
        monkeypatch.setenv("COLUMNS", str(width))
        assert cli.main(command.split()) == 0
        shown.append(capsys.readouterr().out)
    assert "…" not in shown[0]
    narrow = re.sub(r"\s", "", shown[0])
    figures = [word for word in words(shown[1]) if any(letter.isdigit() for letter in word)]
    assert len(figures) > 2 and not {word for word in figures if word not in narrow}


def test_rows_become_paragraphs_only_where_they_do_not_fit() -> None:
    table = Table("", "time", "", title="all")
    table.add_row("ring", "12 µs", "")
    table.add_row(Text("tree"), "9 µs", "[green]✓[/]")
    assert fitting(table, Console(width=80)) is table
    assert str(fitting(table, Console(width=10))) == "all\nring: time 12 µs\ntree: time 9 µs, ✓"


def test_lines_are_not_cut(capsys: pytest.CaptureFixture[str]) -> None:
    command = "mtdrun --nnodes 2 --nproc-per-node 2 --rdzv-backend c10d script.py"
    Page(Console(width=30)).as_it_is(command)
    assert capsys.readouterr().out.replace("\n", "").replace(" ", "") == command.replace(" ", "")


@pytest.mark.slow
@pytest.mark.parametrize("command", ["simulate all_reduce --ranks 3", "museum 13", "game network --par"])
def test_a_terminal_without_letters_is_written_to_in_ascii(command: str, tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "mtd", *command.split()],
        env={**os.environ, **BARE},
        cwd=tmp_path,
        capture_output=True,
        timeout=300,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.isascii() and b"Traceback" not in ended.stderr
    assert ended.stderr == b"", "a game mentions no messages that its player has held"
