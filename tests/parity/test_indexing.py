"""Reading and writing by index, against torch, over random index expressions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

import minitorch_dist as mtd
from tests.parity.compare import same, torch
from tests.strategies import shapes

pytestmark = pytest.mark.parity


@st.composite
def indices(draw: Any, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """An index into a tensor of `shape`: mostly legal, sometimes too long or out of bounds."""
    items: list[Any] = []
    axis = 0
    dots = False
    common = draw(st.sampled_from([(1,), (3,), (2, 3)]))  # index arrays broadcast together
    while axis < len(shape) + draw(st.sampled_from([0, 0, 0, 0, 0, 0, 1])):
        side = shape[axis] if axis < len(shape) else 1
        kind = draw(
            st.sampled_from(
                ["int", "slice", "slice", "none", "dots", "array", "array", "mask", "mask2", "bool", "stop", "list"]
            )
        )
        near = st.integers(-side, side - 1) if side else st.integers(-1, 0)
        if 0 not in shape and draw(st.integers(0, 60)) == 0:  # torch lets some pass into nothing
            near = st.integers(-side - 1, side)
        if kind == "int":
            items.append(draw(near))
        elif kind == "slice":
            end = st.none() | st.integers(-6, 6)
            items.append(slice(draw(end), draw(end), draw(st.none() | st.integers(1, 3))))
        elif kind == "none":
            items.append(None)
            axis -= 1
        elif kind == "dots" and not dots:
            items.append(...)
            dots = True
            axis = max(axis, len(shape) - draw(st.integers(0, 2))) - 1
        elif kind == "array":
            size = draw(st.sampled_from([common, common[-1:], ()]))
            count = int(np.prod(size))
            values = draw(st.lists(near, min_size=count, max_size=count))
            dtype = draw(st.sampled_from([np.int64, np.int32]))
            items.append(np.array(values, dtype).reshape(size))
        elif kind == "list":
            items.append(draw(st.lists(near, min_size=1, max_size=3)))
        elif kind in ("mask", "mask2"):
            dims = shape[axis : axis + (1 if kind == "mask" else 2)]
            bits = draw(st.integers(0, 2**16))
            mask = np.array([bits >> (i % 16) & 1 for i in range(int(np.prod(dims)))], bool)
            items.append(mask.reshape(dims))
            axis += len(dims) - 1
        elif kind == "bool":
            items.append(draw(st.booleans()))
            axis -= 1
        else:
            break
        axis += 1
    return tuple(items)


def of(t: Any, index: tuple[Any, ...]) -> Any:
    """The index with its arrays as tensors of namespace `t`."""
    items = tuple(t.from_numpy(i.copy()) if isinstance(i, np.ndarray) else i for i in index)
    return items[0] if len(items) == 1 else items


@st.composite
def cases(draw: Any) -> tuple[np.ndarray[Any, Any], tuple[Any, ...]]:
    shape = draw(shapes(max_dims=4, max_side=4))
    return np.arange(float(np.prod(shape))).reshape(shape), draw(indices(shape))


@pytest.mark.slow
@given(cases())
@settings(max_examples=250)
def test_reading(case: tuple[Any, tuple[Any, ...]]) -> None:
    same(lambda t, x: (x * 1)[of(t, case[1])], case[0])


@given(cases())
@settings(max_examples=200)
def test_reading_makes_a_view_where_torch_makes_one(case: tuple[Any, tuple[Any, ...]]) -> None:
    def look(t: Any, x: Any) -> Any:
        out = x[of(t, case[1])]
        is_view = out._base is x
        steps = [s for n, s in zip(out.shape, out.stride(), strict=True) if n > 1]
        return is_view, tuple(out.shape), steps if is_view and out.numel() else None

    same(look, case[0], grad=False)


def sizes_of_values(draw: Any, full: tuple[int, ...]) -> tuple[int, ...]:
    kept = full[draw(st.integers(0, len(full))) :]
    return (1,) * draw(st.integers(0, 1)) + tuple(1 if draw(st.booleans()) else n for n in kept)


@st.composite
def writes(draw: Any) -> tuple[Any, ...]:
    x, index = draw(cases())
    try:
        full = tuple(torch.from_numpy(x)[of(torch, index)].shape)
    except (IndexError, RuntimeError):
        full = ()
    value = -1.0 - np.arange(100.0)[: int(np.prod(full))].copy()
    shape = sizes_of_values(draw, full)
    return x, index, np.resize(value, shape) if value.size else np.zeros(shape)


def names_nothing(x: Any, index: tuple[Any, ...]) -> bool:
    """Whether nothing is written: torch then does not look whether the indices are in bounds."""
    y = torch.zeros(x.shape)
    try:
        y[of(torch, index)] = 1
    except (IndexError, RuntimeError):
        return False
    return not y.any()


@given(writes())
@settings(max_examples=120)
def test_writing(case: tuple[Any, ...]) -> None:
    x, index, value = case
    assume(not names_nothing(x, index))
    distinct = all(not isinstance(i, (np.ndarray, list)) or np.asarray(i).dtype == bool for i in index)

    def write(t: Any, x: Any, value: Any) -> Any:
        y = x * 2
        y[of(t, index)] = value if distinct else value.flatten()[:1].sum()
        return y

    same(write, x, value)
    same(write, x, value, grad=False)


@given(cases())
def test_writing_a_number(case: tuple[Any, tuple[Any, ...]]) -> None:
    assume(not names_nothing(*case))

    def write(t: Any, x: Any) -> Any:
        y = x * 2
        y[of(t, case[1])] = -1
        return y

    same(write, case[0])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int8", "uint8", "int64", "bool"])
def test_every_dtype_can_be_indexed(dtype: str) -> None:
    x = np.arange(6).reshape(2, 3)
    index = np.array([1, 0, 1])

    def run(t: Any, x: Any, i: Any) -> Any:
        y = x.clone().to(getattr(t, dtype))
        z = y[i]
        y[0] = 1
        y[:, 1] = y[:, 2]
        y[i[:1], 0] = 0
        return y, z

    same(run, x, index, grad=False)


WRONG: list[tuple[Any, str]] = [
    (5, "index 5 is out of bounds for axis 0 with size 2"),
    ((0, 0, 7), "index 7 is out of bounds for axis 2 with size 4"),
    ((0, 0, 0, 0), "too many indices"),
    (slice(None, None, -1), "step must be greater than zero"),
    (slice(None, None, 0), "slice step cannot be zero"),
    (1.0, "indices are integers, slices"),
    ([5], "index 5 is out of bounds for axis 0 with size 2"),
    ((slice(None), [0, -9]), "index -9 is out of bounds for axis 1 with size 3"),
    (([0, 1, 1], [0, 1]), "could not be broadcast together with shapes (3,) (2,)"),
    ([True, False, True], "a mask of shape [3] does not fit"),
    (np.float32(1), "indices are integers, slices"),
    (np.bool_(True), "indices are integers, slices"),
    ({}, "indices are integers, slices"),
]


@pytest.mark.parametrize(("index", "words"), WRONG, ids=[str(w[0]) for w in WRONG])
def test_wrong_indices(index: Any, words: str | None) -> None:
    x = np.zeros((2, 3, 4))
    same(lambda t, x: x[index], x)
    with pytest.raises((IndexError, ValueError, TypeError)) as caught:
        mtd.from_numpy(x)[index]
    assert words is None or words in str(caught.value)


@pytest.mark.parametrize(
    "value", [[1, 2], np.ones(2), np.float32(1), np.int64(1), "a", None, True, 300, 2.7, float("nan")]
)
@pytest.mark.parametrize("dtype", ["float32", "int8", "float16", "bool"])
def test_what_may_be_written(value: Any, dtype: str) -> None:
    def write(t: Any, x: Any) -> Any:
        x = x.clone().to(getattr(t, dtype))
        x[0] = value
        return x

    same(write, np.zeros((2, 2), np.float32), grad=False)


def test_legacy_lists_are_tuples() -> None:
    x = np.arange(24.0).reshape(2, 3, 4)
    for index in ([[0, 1], [1, 0]], [[0, 1]], [0, None], [0, ...], [0, [1]], [slice(0, 1), 0], range(2), (), [], [[]]):
        same(lambda t, x, i=index: x[i], x)


@pytest.mark.parametrize("index", [0, [0], slice(None), ...])
def test_leaves_are_not_written_to(index: Any) -> None:
    def write(t: Any, x: Any) -> None:
        x[index] = 1

    same(write, np.zeros((2, 3)))


def test_node_names() -> None:
    x = np.zeros((2, 3, 4))
    for index in (
        0,
        slice(None),
        ...,
        None,
        (slice(None), 0),
        (0, slice(1, 2)),
        (slice(None), slice(None)),
        (..., 0),
        (0, None),
        (None, 0),
        [0, 1],
        True,
        (0, slice(None)),
    ):
        same(lambda t, x, i=index: (type(x[i].grad_fn).__name__, 0), x)


def test_an_index_that_changes_before_the_backward_is_an_error() -> None:
    for read in ("x[i]", "x.gather(0, i)", "x.index_select(0, i)", "x.scatter(0, i, 1.0)", "x.masked_fill(i > 0, 1)"):

        def run(t: Any, x: Any, read: str = read) -> Any:
            i = t.tensor([0, 1])
            out = eval(read, {"x": x, "i": i})
            i[0] = 2
            return out

        def written(t: Any, x: Any) -> Any:
            i = t.tensor([0, 1])
            out = x * 1
            out[i] = x[:2] * 2
            i[0] = 2
            return out

        same(written, np.arange(3.0))
        same(run, np.arange(3.0) if "masked" not in read else np.arange(2.0))
