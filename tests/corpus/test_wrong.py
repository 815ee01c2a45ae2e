"""Each bug is found and named; docs/simulator_faults.md says in how many seeds, and that table is what is measured."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.corpus.__main__ import table
from tests.corpus.wrong import BUGS

PAGE = Path(__file__).parents[2] / "docs" / "simulator_faults.md"


@pytest.mark.slow
def test_the_page_tells_what_is_found() -> None:
    measured = table()
    assert len(BUGS) >= 20 and "\n".join(measured) in PAGE.read_text(encoding="utf-8")
    for row in measured[2:]:
        found, named, first = (int(cell) for cell in re.findall(r"\| (\d+) ", row))
        assert named >= 0.8 * found > 0 and first <= 15, row
