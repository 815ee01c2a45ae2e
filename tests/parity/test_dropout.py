"""Dropout against torch's where no chance is involved, and against what it promises where it is."""

from __future__ import annotations

import numpy as np
import pytest

import minitorch_dist as mtd
from tests.parity.compare import same

pytestmark = pytest.mark.parity

NAMES = ["dropout", "dropout2d"]
F = mtd.nn.functional


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dims", [1, 2, 3, 4, 5, 6])
def test_without_chance(name: str, dims: int) -> None:
    x = np.random.default_rng(1).standard_normal((2, 3, 2, 2, 1, 2)[:dims])
    for p, training in [(0.5, False), (0.0, True), (1.0, True), (1.5, True), (-0.1, False)]:
        same(lambda t, x, *a: getattr(t.nn.functional, name)(x, *a), x, p, training)


@pytest.mark.parametrize(
    ("name", "shape", "own"),
    [
        ("dropout", (30, 40), 2),
        ("dropout2d", (30, 40, 2, 3), 2),
        ("dropout2d", (30, 40), 2),
        ("dropout2d", (30, 40, 3), 2),
    ],
)
@pytest.mark.parametrize("inplace", [False, True])
@pytest.mark.filterwarnings("ignore:dropout2d")
def test_what_is_kept(name: str, shape: tuple[int, ...], own: int, inplace: bool) -> None:
    leaf = mtd.ones(shape, requires_grad=True)
    x = leaf * 2
    out = getattr(F, name)(x, 0.25, True, inplace)
    assert (out is x) == inplace
    values = out.array.reshape(*shape[:own], -1)
    assert set(np.unique(values)) <= {np.float32(0), np.float32(2 / 0.75)}
    assert (values == values[..., :1]).all(), "a channel is kept whole or not at all"
    assert 0.15 < (values[..., 0] == 0).mean() < 0.35
    out.sum().backward()
    np.testing.assert_allclose(leaf.grad.array, out.array, rtol=1e-6)


def test_drawn_from_the_seed() -> None:
    x = mtd.ones(5, 7)
    mtd.manual_seed(3)
    first, second = F.dropout(x), F.dropout(x)
    mtd.manual_seed(3)
    np.testing.assert_array_equal(F.dropout(x).array, first.array)
    assert (first.array != second.array).any()


def test_more_that_torch_does() -> None:
    x = np.ones((3, 4))
    same(lambda t, x: t.dropout(x, 0.5, False), x)
    same(lambda t, x: t.nn.functional.dropout(x, 0.5, True, True), x)  # a leaf, in place
    same(lambda t, x: t.nn.functional.dropout(x, 0.5), x.astype(np.int64))
    same(lambda t, x: t.nn.functional.dropout(x, 0.0) is x, x)
    same(lambda t, x: t.nn.functional.dropout(x, 1.0, True, True)._version, x, grad=False)
    same(lambda t, x: t.nn.functional.dropout(x * np.inf, 1.0), x)
    same(lambda t, x: t.nn.functional.dropout(x, 0.5).dtype, x.astype(np.float16))
    same(lambda t, x: t.nn.functional.dropout(x, 0.5), np.ones((0, 3)))
