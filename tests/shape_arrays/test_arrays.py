"""The arrays themselves: views are numpy's own, results lie as numpy's do, and no memory is taken."""

from __future__ import annotations

import copy
import pickle
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from minitorch_dist.tensors.shape_arrays import mode
from minitorch_dist.tensors.shape_arrays.array import NumbersNeeded, ShapeArray, has_numbers

assert mode  # the rules are entered when it is imported


def twins(shape: tuple[int, ...], order: tuple[int, ...]) -> tuple[Any, Any]:
    """An array with numbers and one without, with the same strides."""
    real = np.ones([shape[a] for a in order], np.float32).transpose(np.argsort(order))
    return real, ShapeArray(real.shape, real.dtype, real.strides)


def alike(real: Any, shaped: Any) -> None:
    real = np.asarray(real)
    assert isinstance(shaped, ShapeArray)
    assert (real.shape, real.dtype, real.nbytes) == (shaped.shape, shaped.dtype, shaped.nbytes)
    if real.size:
        steps = [[s for s, n in zip(x.strides, x.shape, strict=True) if n > 1] for x in (real, shaped)]
        assert steps[0] == steps[1]
        assert real.flags.c_contiguous == shaped.flags.c_contiguous
        assert real.flags.writeable == shaped.flags.writeable


SHAPES = st.lists(st.integers(0, 4), min_size=1, max_size=4).map(tuple)


@given(SHAPES, st.randoms(use_true_random=False))
def test_results_lie_in_memory_as_numpys_do(shape: tuple[int, ...], random: Any) -> None:
    order = list(range(len(shape)))
    random.shuffle(order)
    real, shaped = twins(shape, tuple(order))
    last = len(shape) - 1
    asks: list[Any] = [
        lambda x: x + 1,
        lambda x: x * x[..., :1],
        lambda x: x > 2,
        lambda x: x.sum(0),
        lambda x: x.sum(last, keepdims=True),
        lambda x: x.max(initial=0),
        lambda x: x.T,
        lambda x: x.reshape(-1),
        lambda x: x[::2],
        lambda x: x[..., None],
        lambda x: np.expand_dims(x, 0),
        lambda x: np.concatenate([x, x], last),
        lambda x: np.stack([x, x]),
        lambda x: np.where(x > 0, x, 0),
        lambda x: x.astype(np.float64),
        lambda x: x.copy(),
        lambda x: x.copy(order="K"),
        lambda x: np.empty_like(x),
        lambda x: x.cumsum(0),
        lambda x: x.argsort(0),
        lambda x: np.repeat(x, 2, last),
        lambda x: x.take([0, 0], last) if x.shape[last] else x,
        lambda x: x[np.array([0, 0])] if x.shape[0] else x,
        lambda x: x[..., np.array([[0, 0]])] if x.shape[last] else x,
        lambda x: np.flip(x, 0),
        lambda x: np.broadcast_to(x, (2, *x.shape)).sum(0),
        lambda x: np.matmul(x[..., None], x[..., None, :]),
        lambda x: np.moveaxis(x, 0, -1) + 1,
    ]
    for ask in asks:
        alike(ask(real), ask(shaped))


def test_an_array_takes_no_memory_and_has_the_bytes_of_its_shape() -> None:
    tracemalloc.start()
    try:
        x = ShapeArray((1 << 20, 1 << 16), np.float32)
        y = (x * 2 + 1).reshape(1 << 10, -1).sum(0)
        assert x.nbytes == 1 << 38 and y.nbytes == 1 << 28
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "ask",
    [
        lambda x: x[0, 0].item(),
        lambda x: x.tolist(),
        lambda x: float(x[0, 0]),
        lambda x: bool(x[0, 0] > 1),
        lambda x: x.nonzero(),
        lambda x: x[x > 0],
        lambda x: np.unique(x),
        lambda x: list(range(x.astype(int)[0, 0])),
    ],
)
def test_who_asks_for_numbers_is_told_so_and_where(ask: Any) -> None:
    with pytest.raises(NumbersNeeded, match=r"test_arrays.py:\d+.*sim\.value"):
        ask(ShapeArray((2, 3), np.float32))


def test_checks_of_values_pass_and_writes_are_checked_by_shape() -> None:
    x = ShapeArray((2, 3), np.int64)
    assert not (x < 0).any() and (x < 5).all()
    x[...] = 1
    x[0] = np.arange(3)
    x[x > 1] = 7
    with pytest.raises(ValueError, match="could not broadcast"):
        x[...] = np.arange(4)
    with pytest.raises(ValueError, match="broadcast"):
        x += ShapeArray((5, 2, 3), np.int64)
    with pytest.raises(np._core._exceptions.UFuncTypeError):  # type: ignore[attr-defined]
        x += 0.5
    with pytest.raises(NotImplementedError, match=r"np\.interp"):
        np.interp(x, [0, 1], [0, 1])


def test_copies_and_pickles() -> None:
    x = ShapeArray((2, 3), np.float32).T
    for twin in (copy.deepcopy(x), copy.copy(x), pickle.loads(pickle.dumps(x))):
        assert twin.shape == (3, 2) and not has_numbers(twin)
    assert np.shares_memory(x, x[0]) and not np.shares_memory(x, x.copy())
