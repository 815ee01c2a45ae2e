"""Sorting, counting, running totals and differences: values, indices, gradients, refusals as torch's."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from tests.parity.compare import mtd, same, torch
from tests.parity.lines import check, lines, refuses
from tests.strategies import arrays, shapes

pytestmark = pytest.mark.parity

NAN = 't.tensor([3.0, 1.0, float("nan"), 2.0, float("inf"), -float("inf")])'

ORDER = """
t.sort(a(5)), t.sort(a(2, 3), 0), t.sort(a(2, 3), descending=True), t.sort(a(2, 3, 4), 1, True), t.sort(a()), t.sort(a(0)), t.sort(a(3, 0)), a(4).sort()
t.sort(a(9, dtype="int8"), stable=True), t.sort(a(9, dtype="int64"), descending=True, stable=True), t.sort(a(5, dtype="bool"), stable=True), t.sort(a(6, dtype="float16"))
t.argsort(a(5)), t.argsort(a(2, 3), 0, True), t.argsort(a(9, dtype="int64"), stable=True), t.argsort(a()), a(3).argsort(descending=True)
t.topk(a(5), 2), t.topk(a(2, 5), 2, 0), t.topk(a(5), 2, largest=False), t.topk(a(5), 0), t.topk(a(), 1), a(2, 5).topk(5), t.topk(a(5, dtype="int64") * 7 + t.arange(5), 3), t.topk(a(2, 5), 3, -1, True, True)
t.topk(a(2000), 5), t.topk(a(3, 2000), 7, largest=False), t.topk(a(2000, 2), 9, 0)
"""

COUNT = """
t.unique(a(9, dtype="int64")), t.unique(a(9, dtype="int64"), return_inverse=True), t.unique(a(3, 4, dtype="int64"), return_inverse=True, return_counts=True), a(5, dtype="int8").unique()
t.unique(t.tensor([[3, 1], [3, 1], [1, 2]]), dim=0, return_inverse=True, return_counts=True), t.unique(t.tensor([[3, 1, 3], [3, 1, 3]]), dim=1), t.unique(t.tensor([3, 1, 1]), sorted=False)
t.unique(t.tensor([float("nan"), float("nan"), 1.0])), t.unique(a(4, dtype="bool")), t.unique(t.tensor(3)), t.unique(t.tensor([])), t.unique(a(3, dtype="float16"))
t.searchsorted(t.tensor([1.0, 2.0, 3.0]), 2.0), t.searchsorted(t.tensor([1.0, 2.0, 3.0]), t.tensor([2.0, 0.0, 5.0]), right=True), t.searchsorted(t.tensor([1.0, 2.0, 3.0]), t.tensor([2.0, 0.0]), side="right", out_int32=True)
t.nonzero(t.tensor([[0, 1], [2, 0]])), t.nonzero(t.tensor([[0, 1], [2, 0]]), as_tuple=True), t.nonzero(t.tensor(3)), t.nonzero(t.tensor(3), as_tuple=True), t.nonzero(t.tensor(0)), t.tensor([0, 1]).nonzero(), t.nonzero(t.zeros(0))
t.argwhere(t.tensor([0.0, 1.0])), t.argwhere(t.tensor(1.0)), t.tensor([[True], [False]]).argwhere()
"""

SCAN = """
t.cumsum(a(5), 0), t.cumsum(a(2, 3), -1), t.cumsum(a(2, 3, dtype="int8"), 0), t.cumsum(a(3, dtype="bool"), 0), t.cumsum(a(3), 0, dtype=t.float64), t.cumsum(a(), 0), t.cumsum(a(0), 0), a(3).cumsum(0), t.cumsum(a(2, 3, 4), 1)
t.cumsum(a(50, dtype="float16"), 0)
"""

REFUSED = """
t.sort(a(2), dim=1)
t.topk(a(3), 4)
t.topk(a(3), -1)
t.topk(a(2, dtype="bool"), 1)
t.unique(a(3), dim=1)
t.searchsorted(a(2, 2), a(1))
t.cumsum(a(1), 1)
t.unique(a(3)).sum().backward()
"""


@pytest.mark.parametrize("line", lines(ORDER))
def test_ordering(line: str) -> None:
    check(line)


@pytest.mark.parametrize("line", lines(COUNT))
def test_counting(line: str) -> None:
    check(line, grad=False)


@pytest.mark.parametrize("line", lines(SCAN))
def test_scans_and_differences(line: str) -> None:
    check(line, rtol=1e-3 if "float16" in line else 2e-5, atol=1e-3 if "float16" in line else 1e-5)


@pytest.mark.parametrize("line", lines(REFUSED))
def test_refusals(line: str) -> None:
    if "backward" in line:
        with pytest.raises(RuntimeError, match="not implemented"):
            mtd.unique(mtd.ones(2, requires_grad=True)).sum().backward()
    else:
        refuses(line)


@given(st.data())
def test_any_shape_and_strides(data: st.DataObject) -> None:
    x = data.draw(arrays(data.draw(shapes(min_dims=1, max_dims=3))))
    dim = data.draw(st.integers(-x.ndim, x.ndim - 1))
    name = data.draw(st.sampled_from(["cumsum", "sort"]))
    same(lambda t, x: getattr(t, name)(x, dim=dim), x, rtol=1e-7)


def test_parts_have_names() -> None:
    x = mtd.tensor([2.0, 1.0])
    values, _ = mtd.sort(x)
    assert mtd.sort(x).values.tolist() == values.tolist() == [1.0, 2.0]
    assert repr(mtd.topk(x, 1)).startswith("torch.return_types.topk(\nvalues=")
    assert type(mtd.sort(x)).__name__ == type(torch.sort(torch.zeros(2))).__name__ == "sort"
