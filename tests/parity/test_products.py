"""Products of vectors, matrices and batches: values, gradients, and refusals as torch's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from tests.parity.compare import mtd, same, torch
from tests.parity.lines import check, lines, refuses
from tests.strategies import arrays

pytestmark = pytest.mark.parity

AGREE = """
a(2, 3) @ a(3, 4)
a(3) @ a(3, seed=1)
a(2, 3) @ a(3)
a(3) @ a(3, 4)
a(5, 2, 3) @ a(5, 3, 4)
a(5, 2, 3) @ a(3, 4)
a(5, 2, 3) @ a(3)
a(3) @ a(5, 3, 4)
a(2, 3) @ a(5, 3, 4)
a(6, 1, 2, 3) @ a(5, 3, 4)
a(1, 2, 3) @ a(5, 3, 4)
a(0, 3) @ a(3, 2)
a(2, 0) @ a(0, 3)
a(0, 2, 3) @ a(0, 3, 4)
a(2, 2, 0) @ a(0)
a(2, 3).T @ a(4, 2).T
a(2, 4, 3).transpose(1, 2) @ a(4, 2)
a(2, 4, 3).transpose(1, 2) @ a(2, 4, 5)
a(5, 1, 3).expand(5, 2, 3) @ a(1, 3, 4).expand(5, 3, 4)
a(3, 8)[:, ::2] @ a(4, 6)[:, ::2]
(a(2, 3) @ a(3, 4)).sum()
(a(5, 2, 3) @ a(5, 3, 4)).sum()
(a(5, 2, 3) @ a(3, 4)).sum()
(a(2, 3, dtype="float64") @ a(3, 4, dtype="float64"))
a(2, 3, dtype="int64") @ a(3, 4, dtype="int64")
a(2, 3, dtype="uint8") @ a(3, dtype="uint8")
a(3, dtype="int32") @ a(3, dtype="int32")
a(2, 2, 3, dtype="int8") @ a(2, 3, 4, dtype="int8")
t.full((2, 2), 100, dtype=t.int8) @ t.full((2, 2), 100, dtype=t.int8)
t.matmul(a(2, 3), a(3, 4)), t.mm(a(2, 3), a(3, 4)), t.bmm(a(2, 3, 4), a(2, 4, 5))
"""

REFUSED = """
a(2, 3) @ a(4, 5)
a(3) @ a(4)
a(2, 3) @ a(4)
a(3) @ a(4, 5)
a(2, 2, 3) @ a(2, 4, 5)
a(2, 2, 3) @ a(3, 3, 5)
a(2, 2, 3) @ a(4, 5)
a(2, 2, 3) @ a(4)
a() @ a(2)
a(2) @ 3
3 @ a(2)
a(2, 2) @ a(2, 2, dtype="float64")
a(2) @ a(2, dtype="float64")
a(2, 2, 2) @ a(2, 2, 2, dtype="float64")
a(2, 2) @ a(2, 2, dtype="int64")
a(2, 2, dtype="bool") @ a(2, 2, dtype="bool")
a(2, dtype="bool") @ a(2, dtype="bool")
t.mm(a(2, 3), a(3))
t.mm(a(2), a(3))
t.mm(a(2, 3), a(4, 5))
t.bmm(a(2, 3), a(4, 5))
t.bmm(a(2, 3, 4), a(2, 5, 6))
t.bmm(a(2, 3, 4), a(3, 4, 6))
t.bmm(a(1, 3, 4), a(3, 4, 6))
t.dot(a(2, 1), a(2))
t.dot(a(3), a(2))
t.outer(a(2, 1), a(3))
"""


@pytest.mark.parametrize("line", lines(AGREE))
def test_products(line: str) -> None:
    check(line)


@pytest.mark.parametrize("line", lines(REFUSED))
def test_refusals(line: str) -> None:
    refuses(line)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize(
    "line",
    [
        "a(3, 40, dtype=D) @ a(40, 5, dtype=D)",
        "a(2, 3, 40, dtype=D) @ a(2, 40, 5, dtype=D)",
        "a(40, dtype=D) @ a(40, dtype=D, seed=1)",
        "F.linear(a(3, 40, dtype=D), a(5, 40, dtype=D), a(5, dtype=D))",
    ],
)
def test_half_precision(line: str, dtype: str) -> None:
    check(line.replace("D", repr(dtype)), rtol=1e-2, atol=2e-2)


LINEAR = """
F.linear(a(2, 3), a(4, 3), a(4))
F.linear(a(2, 3), a(4, 3))
F.linear(a(5, 2, 3), a(4, 3), a(4))
F.linear(a(5, 2, 3), a(4, 3))
F.linear(a(3), a(4, 3), a(4))
F.linear(a(3), a(4, 3))
F.linear(a(2, 3), a(3))
F.linear(a(3), a(3))
F.linear(a(0, 3), a(4, 3), a(4))
F.linear(a(2, 0), a(4, 0), a(4))
F.linear(a(2, 3), a(4, 3), a(1))
F.linear(a(2, 3), a(4, 3), a(2, 4))
F.linear(a(3, 2).T, a(3, 4).T, a(4))
F.linear(a(2, 3), a(4, 3), a(4)).sum()
F.linear(a(5, 2, 3), a(4, 3), a(4)).sum()
F.linear(a(2, 3, dtype="int64"), a(4, 3, dtype="int64"))
"""

LINEAR_REFUSED = """
F.linear(a(2, 3), a(4, 2))
F.linear(a(5, 2, 3), a(4, 2))
F.linear(a(2, 3), a(4, 3), a(5))
F.linear(a(2, 3), a(4, 3, dtype="float64"))
F.linear(a(2, 3, dtype="int64"), a(4, 3))
F.linear(a(2, 3), a(4, 3), a(4, dtype="float64"))
"""


@pytest.mark.parametrize("line", lines(LINEAR))
def test_linear(line: str) -> None:
    check(line)


@pytest.mark.parametrize("line", lines(LINEAR_REFUSED))
def test_linear_refusals(line: str) -> None:
    refuses(line)


def test_linear_skips_the_gradient_nobody_wants() -> None:
    def loss(t, x, w):  # type: ignore[no-untyped-def]
        return t.nn.functional.linear(x.detach(), w).sum()

    same(loss, np.ones((2, 3), np.float32), np.ones((4, 3), np.float32))


@given(st.data())
def test_any_ranks_and_strides(data: st.DataObject) -> None:
    n, k, m = (data.draw(st.integers(0, 4)) for _ in range(3))
    batch = data.draw(st.lists(st.integers(1, 3), max_size=2))
    left = [*batch[data.draw(st.integers(0, len(batch))) :], n, k]
    right = [*batch[data.draw(st.integers(0, len(batch))) :], k, m]
    x = data.draw(arrays(tuple(left[-1:] if data.draw(st.booleans()) else left)))
    y = data.draw(arrays(tuple([k] if data.draw(st.booleans()) else right)))
    same(lambda t, x, y: x @ y, x, y)


EINSUM = """
t.einsum("ij,jk", a(2, 3), a(3, 4))
t.einsum("ij,jk->ki", a(2, 3), a(3, 4))
t.einsum("ij,jk->", a(2, 3), a(3, 4))
t.einsum("ba", a(2, 3))
t.einsum("bA", a(2, 3))
t.einsum("...ij->...ji", a(2, 3, 4))
t.einsum("i,j", [a(2), a(3)])
t.einsum("i,i->i", a(3), a(3, seed=1))
t.einsum("bij,bjk->bik", a(2, 3, 4), a(2, 4, 5))
t.einsum("bhqd,bhkd->bhqk", a(2, 2, 3, 4), a(2, 2, 5, 4))
t.einsum("bqhd,bkhd->bhqk", a(2, 3, 2, 4), a(2, 5, 2, 4))
t.einsum("i,j,k->kji", a(2), a(3), a(4))
t.einsum("ij,jk,kl->il", a(2, 3), a(3, 4), a(4, 5))
t.einsum("ij,jk,ki->", a(2, 3), a(3, 4), a(4, 2))
t.einsum("abc,cd,ad->b", a(2, 3, 4), a(4, 5), a(2, 5))
t.einsum("ij,kl->i", a(2, 3), a(4, 5))
t.einsum("ij,jk->ik", a(2, 1), a(4, 4))
t.einsum("ij,ij->ij", a(2, 1), a(2, 4))
t.einsum("...,...", a(2, 3), a(3))
t.einsum("...i,...i", a(2, 3), a(2, 3, seed=1))
t.einsum("...i->i", a(2, 3))
t.einsum("...ij,...jk->...ik", a(5, 2, 3), a(3, 4))
t.einsum("...ij,...jk->...ik", a(6, 1, 2, 3), a(5, 3, 4))
t.einsum("ij...k->...", a(2, 2, 3, 4))
t.einsum("i...j->j...i", a(2, 2, 3, 4))
t.einsum(" i j -> j i ", a(2, 3))
t.einsum("", a())
t.einsum("i->", a(2))
t.einsum("i,i", a(3, dtype="int64"), a(3, dtype="int64"))
t.einsum("ij,j", a(0, 3), a(3))
t.einsum("ij,j", a(2, 0), a(0))
t.einsum("ij,jk", a(2, 3, dtype="float64"), a(3, 4, dtype="float64"))
"""

EINSUM_REFUSED = """
t.einsum("ij,jk->ik", a(2, 3), a(4, 4))
t.einsum("ij,jk->iz", a(2, 3), a(3, 4))
t.einsum("ij->ii", a(2, 3))
t.einsum("ijk", a(2, 3))
t.einsum("i", a(2, 3))
t.einsum("ij", a(2, 3), a(2))
t.einsum("i,j,k->ijk", a(2), a(3))
t.einsum("i1", a(2, 3))
t.einsum("i.j", a(2, 3))
t.einsum("ii", a(2, 3))
t.einsum("ij,jk->ik")
t.einsum("ij->i->j", a(2, 2))
t.einsum("ij,jk", a(2, 3), a(3, 4, dtype="float64"))
"""


@pytest.mark.parametrize("line", lines(EINSUM))
def test_einsum(line: str) -> None:
    check(line)


@pytest.mark.parametrize("line", lines(EINSUM_REFUSED))
def test_einsum_refusals(line: str) -> None:
    refuses(line)


@given(st.data())
def test_any_einsum(data: st.DataObject) -> None:
    letters = st.lists(st.sampled_from("abcd"), max_size=4, unique=True)
    terms = data.draw(st.lists(letters, min_size=1, max_size=3))
    used = sorted({letter for term in terms for letter in term})
    output = data.draw(st.permutations(used)) if used else []
    output = output[: data.draw(st.integers(0, len(output)))]
    sizes = {letter: n for n, letter in enumerate("abcd", 1)}
    operands = [data.draw(arrays(tuple(sizes[letter] for letter in term))) for term in terms]
    equation = ",".join(map("".join, terms)) + "->" + "".join(output)
    same(lambda t, *x: t.einsum(equation, *x), *operands, rtol=1e-8)


def test_every_name_is_there() -> None:
    names = """matmul mm bmm dot outer einsum"""
    for name in names.split():
        assert hasattr(mtd, name) and hasattr(torch, name)
