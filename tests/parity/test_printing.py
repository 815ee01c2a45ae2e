"""The repr of a tensor equals torch's, character by character."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import minitorch_dist as mtd
from tests.parity.compare import same, tensor, torch
from tests.strategies import arrays, shapes

pytestmark = pytest.mark.parity

DEFAULTS: dict[str, Any] = {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80, "sci_mode": None}
DTYPES = ["float16", "bfloat16", "float32", "float64", "int8", "uint8", "int64", "int32", "bool"]


@pytest.fixture
def fresh_options() -> Iterator[None]:
    yield
    for t in (torch, mtd):
        t.set_printoptions(**DEFAULTS)


def alike(array: Any, dtype: str, **options: Any) -> None:
    reprs = []
    for t in (torch, mtd):
        t.set_printoptions(**{**DEFAULTS, **options})
        reprs.append(repr(tensor(t, array, False).to(getattr(t, dtype))))
    assert reprs[1] == reprs[0]


@st.composite
def numbers(draw: Any) -> Any:
    """Arrays whose magnitudes call for every notation, with zeros, infinities and nans."""
    shape = draw(shapes(max_dims=4, max_side=5) | st.sampled_from([(41,), (3, 30), (1, 2, 17)]))
    size = int(np.prod(shape))
    power = draw(st.sampled_from([0, 0, 0, 1, 2, 3, 4, 5, 8, 9, -3, -4, -5, -9]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    x = rng.standard_normal(size) * 10.0 ** rng.uniform(min(power, 0), max(power, 0), size)
    if draw(st.booleans()):
        x = np.round(x)
    special = draw(st.lists(st.sampled_from([0.0, -0.0, np.nan, np.inf, -np.inf, 1.0]), max_size=3))
    if size:
        for value in special:
            x[draw(st.integers(0, size - 1))] = value
    return x.reshape(shape)


@pytest.mark.slow
@given(numbers(), st.sampled_from(["float32", "float64", "float16", "bfloat16"]))
@settings(max_examples=400)
def test_floats(x: Any, dtype: str) -> None:
    alike(x, dtype)


@given(arrays(low=-200, high=200), st.sampled_from(DTYPES))
def test_dtypes(x: Any, dtype: str) -> None:
    alike(np.asarray(np.abs(x) if dtype == "uint8" else x / 2), dtype)


@given(
    numbers(),
    st.integers(0, 7),
    st.integers(1, 3),
    st.integers(0, 20),
    st.integers(20, 120),
    st.sampled_from([None, True, False]),
)
def test_options(x: Any, digits: int, edge: int, most: int, width: int, sci: bool | None) -> None:
    try:
        alike(x, "float32", precision=digits, edgeitems=edge, threshold=most, linewidth=width, sci_mode=sci)
    finally:
        for t in (torch, mtd):
            t.set_printoptions(**DEFAULTS)


@pytest.mark.parametrize("shape", [(1001,), (1000,), (40, 40), (7, 7, 30), (2, 600), (600, 2), (1, 1, 2000)])
@pytest.mark.parametrize("dtype", ["float32", "int64", "bool"])
def test_long_tensors_show_their_edges(shape: tuple[int, ...], dtype: str) -> None:
    x = np.arange(int(np.prod(shape))).reshape(shape)
    alike(x % 7 if dtype != "bool" else x % 2, dtype)
    alike(x / 3, "float64")


def test_what_is_said_about_the_graph() -> None:
    x = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    wide = np.linspace(0, 1, 19, dtype=np.float32)
    same(lambda t, x: repr(x), x)
    same(lambda t, x: repr(x), x, grad=False)
    same(lambda t, x: repr(x * 2), x)
    same(lambda t, x: repr((x * 2)[0]), x)
    same(lambda t, x: repr((x * 2).to(t.float64)), x)
    same(lambda t, x: repr(x * 2), wide)
    same(lambda t, x: repr(x.view(1, 19).to(t.float64)), wide)
    same(lambda t, x: repr(x[:0].to(t.float64)), x)


def test_a_view_knows_of_writes_to_its_base() -> None:
    def look(t: Any, x: Any) -> Any:
        y = x * 2
        z = y[0]
        y *= 3
        return repr(z)

    same(look, np.zeros((2, 3), np.float32))


@pytest.mark.parametrize("form", ["{:.3f}", "{}", "{:>12}", "{:e}", "%.2f"])
def test_format(form: str, fresh_options: None) -> None:
    def write(t: Any, x: Any) -> Any:
        return form % x if form.startswith("%") else form.format(x)

    same(write, np.array(2.5), grad=False)
    same(write, np.array([2.5, 3.0]), grad=False)
    same(lambda t, x: f"{x}", np.array([2.5]), grad=False)
