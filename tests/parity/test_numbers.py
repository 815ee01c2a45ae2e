"""The numbers and the index that have names in the package itself."""

from __future__ import annotations

from typing import Any

import pytest

from tests.parity.compare import mtd, same, torch

pytestmark = pytest.mark.parity


@pytest.mark.parametrize("name", ["inf", "nan", "pi", "e", "newaxis"])
def test_they_are_those_of_torch(name: str) -> None:
    theirs, ours = getattr(torch, name), getattr(mtd, name)
    assert type(ours) is type(theirs)
    assert repr(ours) == repr(theirs)


def test_they_work_where_a_number_or_an_index_is_wanted() -> None:
    def program(t: Any) -> Any:
        row = t.tensor([t.inf, -t.inf, t.nan, t.pi, t.e])
        filled = t.zeros(2, 2).masked_fill(t.eye(2) > 0, -t.inf)
        return row, row.isnan(), filled, row[:, t.newaxis], row[t.newaxis].shape

    same(program)
