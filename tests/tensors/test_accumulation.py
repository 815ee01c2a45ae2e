"""Adding at places that may be named twice."""

from __future__ import annotations

import numpy as np

from minitorch_dist.tensors.ops.accumulation import add_at, sum_groups


def test_values_broadcast() -> None:
    x = np.zeros((4, 300))
    add_at(x, (np.array([1, 1, 3]),), np.ones(300))
    assert x.sum(1).tolist() == [0, 600, 0, 300]


def test_sums_of_groups() -> None:
    places = np.array([2, 0, 2, 2])
    for width in (1, 3):
        values = np.arange(4.0 * width).reshape(4, width)
        rows, sums = sum_groups(places, values)
        assert rows.tolist() == [0, 2]
        assert sums.tolist() == [values[1].tolist(), (values[0] + values[2] + values[3]).tolist()]


def test_halves_are_added_in_float32() -> None:
    x = np.zeros(2, np.float16)
    add_at(x, (np.zeros(4096, np.int64),), np.ones(4096, np.float16))
    assert x[0] == 4096  # in float16, adding ones stops at 2048
