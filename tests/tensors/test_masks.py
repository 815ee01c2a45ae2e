"""A mask chooses: the fast form, a product with bits, equals the simple one."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, strategies as st

from minitorch_dist.tensors.masks import only

KINDS: list[Any] = [np.float32, np.float64, np.float16, ml_dtypes.bfloat16]
SPECIAL = [0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan, 1e-8, 6e4]


@pytest.mark.parametrize("kind", KINDS)
@given(st.lists(st.tuples(st.sampled_from(SPECIAL), st.booleans()), max_size=40), st.integers(1, 3))
def test_it_equals_where(kind: Any, pairs: list[tuple[float, bool]], step: int) -> None:
    grad = np.array([value for value, _ in pairs], np.float64).astype(kind)[::step]
    mask = np.array([flag for _, flag in pairs], bool)[::step]
    found = only(grad, mask)
    assert found.dtype == grad.dtype
    np.testing.assert_array_equal(found.astype(np.float64), np.where(mask, grad.astype(np.float64), 0))


@pytest.mark.parametrize("kind", KINDS)
def test_it_broadcasts_and_takes_one_element(kind: Any) -> None:
    spread = np.broadcast_to(np.array(np.inf, kind), (2, 3))  # read-only, all strides 0
    mask = np.array([True, False, True])
    assert only(spread, mask).astype(float).tolist() == [[np.inf, 0, np.inf]] * 2
    assert float(only(np.array(np.nan, kind), np.array(False))) == 0
    assert only(np.zeros((0, 3), kind), mask).shape == (0, 3)
