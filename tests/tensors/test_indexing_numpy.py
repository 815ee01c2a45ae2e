"""Reading and writing by index, against numpy, over random arrays with odd strides."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, strategies as st

import minitorch_dist as mtd
from tests.strategies import arrays, shapes


@st.composite
def indexed(draw: Any) -> tuple[Any, Any]:
    """An array and an index of one kind: slices and ints, or one mask, or index arrays in front.

    (Where ints stand beside index arrays, numpy and torch place the result differently; that is
    compared with torch, in tests/parity/test_indexing.py.)
    """
    x = draw(arrays(shape=shapes(min_dims=1, max_dims=4, min_side=1)))
    kind = draw(st.sampled_from(["window", "mask", "arrays"]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if kind == "mask":
        depth = draw(st.integers(1, x.ndim))
        return x, rng.random(x.shape[:depth]) > 0.5
    if kind == "arrays":
        depth = draw(st.integers(1, x.ndim))
        shape = draw(shapes(max_dims=2, max_side=3))
        index = tuple(np.asarray(rng.integers(-n, n, shape)) for n in x.shape[:depth])
        return x, index
    items: list[Any] = []
    for n in x.shape[: draw(st.integers(0, x.ndim))]:
        start, stop = sorted(int(v) for v in rng.integers(-n - 1, n + 2, 2))
        choices = [int(rng.integers(-n, n)), slice(start, stop, int(rng.integers(1, 4))), slice(None)]
        items.append(choices[int(rng.integers(3))])
    if draw(st.booleans()):
        items.insert(int(rng.integers(len(items) + 1)), None)
    if draw(st.booleans()):
        items.append(Ellipsis)
    return x, tuple(items)


def as_tensors(index: Any) -> Any:
    if isinstance(index, tuple):
        return tuple(as_tensors(i) for i in index)
    return mtd.from_numpy(index) if isinstance(index, np.ndarray) else index


@given(indexed())
def test_reading_is_numpys(case: tuple[Any, Any]) -> None:
    x, index = case
    found = mtd.from_numpy(x)[as_tensors(index)]
    np.testing.assert_array_equal(found.array, x[index])
    assert found.shape == np.shape(x[index])


@given(indexed(), st.floats(-5, 5))
def test_writing_is_numpys_and_the_gradient_is_cut_out(case: tuple[Any, Any], value: float) -> None:
    x, index = case
    expected = np.array(x)
    expected[index] = value
    t = mtd.from_numpy(np.array(x)).requires_grad_()
    written = t * 1.0
    written[as_tensors(index)] = value
    np.testing.assert_array_equal(written.detach().array, expected)
    written.sum().backward()
    left = np.ones_like(x)
    left[index] = 0
    np.testing.assert_array_equal(t.grad.array, left)


@given(indexed())
def test_the_gradient_of_reading_counts_how_often_each_element_was_read(case: tuple[Any, Any]) -> None:
    x, index = case
    t = mtd.from_numpy(np.array(x)).requires_grad_()
    t[as_tensors(index)].sum().backward()
    counts = np.zeros_like(x)
    np.add.at(counts, index, 1.0)
    np.testing.assert_array_equal(t.grad.array, counts)
