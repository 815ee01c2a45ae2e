"""Ranges, grids, combinations and blocks, as torch makes them."""

from __future__ import annotations

import pytest

from tests.parity.compare import mtd, torch
from tests.parity.lines import check, lines, refuses

pytestmark = pytest.mark.parity

AGREE = """
t.arange(5), t.arange(5.0), t.arange(1, 5, dtype=t.float32), t.arange(0, 1, 0.1), t.arange(5, 0, -2), t.arange(True)
t.arange(start=2, end=5), t.arange(end=5), t.arange(0, 5, step=2), t.arange(2, end=4), t.arange(0, 5, 2, dtype=t.float64)
t.arange(t.tensor(3)), t.arange(t.tensor(3.0)), t.arange(0.5, 3, dtype=t.int64), t.arange(3, dtype=t.float16), t.arange(0, 2.5, dtype=t.int32)
t.arange(0), t.arange(1, 1), t.arange(-3, 3), t.arange(0.1, 0.9, 0.2), t.arange(5.0, 0.0, -1.5), t.arange(2, 3.5), t.arange(3.0, requires_grad=True)
t.linspace(0, 1, 5), t.linspace(0, 1, 1), t.linspace(0, 1, 0), t.linspace(0, 10, 4, dtype=t.int64), t.linspace(t.tensor(0.0), 1, steps=3), t.linspace(-1, 1, 6, dtype=t.float64), t.linspace(3, -3, 7)
t.eye(2), t.eye(2, 3, dtype=t.int64), t.eye(3, 2), t.eye(0), t.eye(2, requires_grad=True)
F.one_hot(t.tensor([0, 2])), F.one_hot(t.tensor([[0, 2], [1, 1]]), 4), F.one_hot(t.tensor([], dtype=t.int64), 3), F.one_hot(t.tensor(1), 3)
"""

REFUSED = """
t.arange(5, 0)
t.arange(0, 5, 0)
t.arange(0, 5, -1)
t.arange(float("nan"))
t.arange(float("inf"))
t.arange(3, dtype=t.bool)
t.arange()
t.arange("a")
t.linspace(0, 1, -1)
t.linspace(0, 1)
t.eye(-1)
t.eye(2.0)
F.one_hot(t.tensor([0, 2]), 2)
F.one_hot(t.tensor([-1, 2]), 4)
F.one_hot(t.tensor([0, 2], dtype=t.int32), 4)
F.one_hot(t.tensor([], dtype=t.int64))
F.one_hot(t.tensor([0]), 0)
"""


@pytest.mark.parametrize("line", lines(AGREE))
def test_same(line: str) -> None:
    check(line)


@pytest.mark.parametrize("line", lines(REFUSED))
def test_refusals(line: str) -> None:
    refuses(line)


def test_arange_of_bfloat16() -> None:
    ours, theirs = mtd.arange(300, dtype=mtd.bfloat16), torch.arange(300, dtype=torch.bfloat16)
    assert ours.array.astype("float32").tolist() == theirs.float().tolist()
