"""The blind table: what it holds, how its errors are summed up, and that its command tells them."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from mtd.cli import papers_blind
from mtd.papers import blind
from mtd.papers.blind import BlindRow, PredictedRow, Summary
from mtd.planning import in_processes, layout_words
from mtd.planning.model_files import ModelSizes
from mtd.planning.plan_cache import PlanCache
from mtd.planning.search import PlanRow
from tests.deep import some_of

EVERY = blind.rows(10**6)
SMALL = [row for row in blind.rows(8) if not row.is_held_back]


def row(number: int, tokens: float = 100.0) -> BlindRow:
    return BlindRow(f"row {number}", "mpt-1b", 2048, "h100", 8, "nvlink8+400G", "fsdp=8", tokens)


def test_half_of_the_rows_are_held_back_by_their_names() -> None:
    held = sum(each.is_held_back for each in EVERY)
    assert len(EVERY) == len({each.name for each in EVERY}) >= 60
    assert 0.4 < held / len(EVERY) < 0.6
    assert all(row(n).is_held_back == row(n)._replace(tokens=1.0, layout="").is_held_back for n in range(9))


def test_each_layout_can_be_read() -> None:
    for each in EVERY:
        sizes = blind._table()["models"][each.model]
        model = ModelSizes(each.model, sequence=each.sequence, batch=1, **sizes)
        assert layout_words.read(each.layout, model, each.gpus)[1].ranks == each.gpus


def test_a_summary_counts_errors() -> None:
    found = [
        PredictedRow(row(0), 10**9, 105.0, 0.5),
        PredictedRow(row(1), 10**10, 110.0, 1.2),
        PredictedRow(row(2), 10**11, 85.0, 1.04),
    ]
    said = blind.summary(found)
    assert (said.rows, said.too_full) == (3, 1)
    assert said.mean == pytest.approx(0.1) and said.median == pytest.approx(0.1)
    assert said.near == pytest.approx(1 / 3)  # 110 is a trifle above 10 %
    assert said.by_size == pytest.approx((-0.15 - 0.05) / 2) and said.by_length == 0


@pytest.mark.slow
@pytest.mark.parametrize("place", some_of(range(0, len(SMALL), 12), 2))
def test_a_row_is_predicted(place: int) -> None:
    """Rows that may be looked at, to a third: the command tells how near they are."""
    row = SMALL[place]
    assert abs(blind.predicted(row, blind.simulated(row)).error) < 1 / 3


def test_an_interrupted_table_goes_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rows that are done are kept until all are."""
    rows, asked = SMALL[:45], []

    def one(simulated: Any, wanted: Callable[[], Sequence[BlindRow]], processes: int) -> Iterator[Any]:
        while left := wanted():
            if len(asked) == 30:
                raise KeyboardInterrupt
            asked.append(left[0])
            yield left[0], PlanRow(blind.question(left[0])[1], 1.0, {"parameter": 2.0**30}, True)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(in_processes, "simulate", one)
    monkeypatch.setattr(blind, "rows", lambda most: rows)
    assert papers_blind.run(Console(file=io.StringIO()), False) == 130
    assert "20 of 45 rows\n" in (said := capsys.readouterr().err)
    assert "interrupted; what is done is in .mtd-blind.json, and the same command goes on" in said
    asked[:] = asked[1:2]
    monkeypatch.setattr(papers_blind, "is_near", lambda summary: True)
    monkeypatch.setattr(blind, "summary", lambda found: Summary(len(found), *[0.0] * 5, 0))
    assert papers_blind.run(Console(file=io.StringIO()), False) == 0
    assert len(asked) < 20 and " of 45 rows from before" in capsys.readouterr().err
    assert not Path(".mtd-blind.json").exists()


def test_the_command_tells_rows_and_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    def near(rows: Sequence[BlindRow], cache: PlanCache) -> list[PredictedRow]:
        return [PredictedRow(each, 10**9, each.tokens * 1.02, 0.5) for each in rows]

    monkeypatch.setattr(papers_blind, "_predicted", near)
    text = io.StringIO()
    assert papers_blind.run(Console(file=text, width=100), False) == 0
    assert "held back" in text.getvalue() and "All of it holds" in text.getvalue()
    shown = {line.split("  ")[0].strip() for line in text.getvalue().splitlines()}
    held = {each.name for each in blind.rows() if each.is_held_back}
    assert not held & shown  # nobody looks at them one by one
