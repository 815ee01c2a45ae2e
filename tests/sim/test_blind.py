"""The blind table: what it holds, how its errors are summed up, and that its command tells them."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence

import pytest
from rich.console import Console

from mtd.cli import papers_blind
from mtd.papers import blind
from mtd.papers.blind import BlindRow, PredictedRow
from mtd.planning import layout_words
from mtd.planning.model_files import ModelSizes
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
        PredictedRow(row(0), 10**9, 105.0, 0.5), PredictedRow(row(1), 10**10, 110.0, 1.2),
        PredictedRow(row(2), 10**11, 85.0, 1.04),
    ]  # fmt: skip
    said = blind.summary(found)
    assert (said.rows, said.too_full) == (3, 1)
    assert said.mean == pytest.approx(0.1) and said.median == pytest.approx(0.1)
    assert said.near == pytest.approx(1 / 3)  # 110 is a trifle above 10 %
    assert said.by_size == pytest.approx((-0.15 - 0.05) / 2) and said.by_length == 0


@pytest.mark.slow
@pytest.mark.parametrize("place", some_of(range(0, len(SMALL), 12), 2))
def test_a_row_is_predicted(place: int) -> None:
    """Rows that may be looked at, to a third: the command tells how near they are."""
    assert abs(blind.predicted(SMALL[place]).error) < 1 / 3


def test_the_command_tells_rows_and_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    def near(rows: Sequence[BlindRow]) -> Iterator[PredictedRow]:
        return (PredictedRow(each, 10**9, each.tokens * 1.02, 0.5) for each in rows)

    monkeypatch.setattr(papers_blind, "_predicted", near)
    text = io.StringIO()
    assert papers_blind.run(Console(file=text, width=100), False) == 0
    assert "held back" in text.getvalue() and "All of it holds" in text.getvalue()
    shown = {line.split("  ")[0].strip() for line in text.getvalue().splitlines()}
    held = {each.name for each in blind.rows() if each.is_held_back}
    assert not held & shown  # nobody looks at them one by one
