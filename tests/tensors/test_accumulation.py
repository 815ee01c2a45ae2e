"""The fast way to add at repeated places agrees with the simple one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from minitorch_dist.tensors.ops.accumulation import add_at
from minitorch_dist.tensors.ops.fast import accumulation
from minitorch_dist.tensors.ops.fast.accumulation import sum_rows


@st.composite
def cases(draw: Any) -> Any:
    shape = tuple(draw(st.lists(st.integers(1, 6), min_size=1, max_size=4)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    index_shape = draw(st.sampled_from([(5,), (40,), (3, 7), (0,), (1,)]))
    where: list[Any] = []
    for side in shape[: draw(st.integers(1, len(shape)))]:
        if draw(st.booleans()):
            where.append(slice(None))
        else:
            part = draw(st.sampled_from([index_shape, index_shape[-1:]]))
            where.append(rng.integers(-side, side, part))
    if all(isinstance(w, slice) for w in where):
        where[-1] = rng.integers(0, shape[len(where) - 1], index_shape)
    target = rng.standard_normal(shape)
    if draw(st.booleans()):
        target = np.asfortranarray(target)
    values = rng.standard_normal(target[tuple(where)].shape)
    return target, tuple(where), values


@given(cases(), st.sampled_from([np.float32, np.float64, np.int64]))
def test_both_ways_agree(case: Any, dtype: Any) -> None:
    target, where, values = case
    target, values = (target * 8).astype(dtype), (values * 8).astype(dtype)
    slow, fast = target.copy(order="K"), target.copy(order="K")
    add_at.simple(slow, where, values)  # type: ignore[attr-defined]
    small, accumulation.SMALL = accumulation.SMALL, -1
    try:
        add_at(fast, where, values)
    finally:
        accumulation.SMALL = small
    np.testing.assert_allclose(fast, slow, rtol=1e-5, atol=1e-5)


def test_values_broadcast() -> None:
    x = np.zeros((4, 300))
    add_at(x, (np.array([1, 1, 3]),), np.ones(300))
    assert x.sum(1).tolist() == [0, 600, 0, 300]


@pytest.mark.parametrize("count", [3, 1000])
def test_sum_rows(count: int) -> None:
    places = np.array([2, 0, 2, 2])
    for width in (1, 3):
        values = np.arange(4.0 * width).reshape(4, width)
        rows, sums = sum_rows(places, values, count)
        full = np.zeros((count, width))
        full[rows] += sums
        assert full[0].tolist() == values[1].tolist()
        assert full[2].tolist() == (values[0] + values[2] + values[3]).tolist()


@pytest.mark.parametrize("way", [add_at, add_at.simple])  # type: ignore[attr-defined]
def test_halves_are_added_in_float32(way: Any) -> None:
    x = np.zeros(2, np.float16)
    way(x, (np.zeros(4096, np.int64),), np.ones(4096, np.float16))
    assert x[0] == 4096  # in float16, adding ones stops at 2048
