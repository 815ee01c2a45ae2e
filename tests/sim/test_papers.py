"""Each reproduced table holds, to its tolerance; and a row that does not is seen."""

from __future__ import annotations

from pathlib import Path

import pytest

from minitorch_dist.cli import main
from minitorch_dist.sim.papers import PAPERS, paper
from minitorch_dist.sim.papers.paper import Row

LONG = {"powersgd", "zero_volume"}  # seconds each
LONGER = {"zero_memory", "megatron_speed"}  # many of them; `make deep`


def marks(name: str) -> list[pytest.MarkDecorator]:
    return [pytest.mark.slow] * (name in LONG) + [pytest.mark.deep] * (name in LONGER)


@pytest.mark.parametrize("name", [pytest.param(name, marks=marks(name)) for name in PAPERS])
def test_the_paper_is_reproduced(name: str) -> None:
    wrong = [row for row in paper(name).rows() if not row.holds]
    assert not wrong


def test_the_page_has_a_line_for_each() -> None:
    page = (Path(__file__).parents[2] / "docs" / "papers.md").read_text(encoding="utf-8")
    lines = [line.split("`")[1] for line in page.splitlines() if line.startswith("| `")]
    assert lines == sorted(PAPERS)


def test_what_holding_means() -> None:
    assert Row("x", 2.0, 2.01, 0.01).holds and not Row("x", 2.0, 2.05, 0.01).holds
    assert Row("x", (1.0, 2.0), 1.5).holds and not Row("x", (1.0, 2.0), 2.5).holds
    assert Row("x", 1.5, (1.0, 2.0)).holds and not Row("x", 0.5, (1.0, 2.0)).holds


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["papers", "goyal"]) == 0
    assert "12.8 Gb/s" in capsys.readouterr().out
    assert main(["papers", "nonsense"]) == 2
    assert "there is no paper 'nonsense'" in capsys.readouterr().err
