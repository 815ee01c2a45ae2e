"""Spirals and moons: shapes, balance, seeds; and a straight line does not part them."""

from __future__ import annotations

import numpy as np
import pytest

from minitorch_dist.datasets import moons, spirals


@pytest.mark.parametrize("size", [0, 1, 7, 300])
def test_shapes_and_balance(size: int) -> None:
    for points, labels, classes in ((*spirals(size), 3), (*moons(size), 2)):
        assert points.shape == (size, 2) and labels.shape == (size,)
        counts = np.bincount(labels.array, minlength=classes)
        assert counts.max() - counts.min() <= 1


def test_one_seed_is_one_set() -> None:
    for make in (spirals, moons):
        a, b, c = make(seed=1), make(seed=1), make(seed=2)
        assert a[0].tolist() == b[0].tolist() != c[0].tolist()


def test_no_straight_line_parts_them() -> None:
    for points, labels in (spirals(600, arms=2), moons(600)):
        x = np.c_[points.array, np.ones(600)]
        weights = np.linalg.lstsq(x, 2.0 * labels.array - 1, rcond=None)[0]
        assert 0.4 < ((x @ weights > 0) == labels.array).mean() < 0.93


def test_bad_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match="size=-1"):
        spirals(-1)
    with pytest.raises(ValueError, match="must be >= 0"):
        moons(-1)
