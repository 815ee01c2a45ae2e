"""The fast forms of convolution are the simple one, and their gradients are its derivatives."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from minitorch_dist.tensors.ops.fast import correlation, shifted_rows, winograd, winograd_gradients
from minitorch_dist.tensors.ops.images import correlation as layers
from minitorch_dist.tensors.ops.images.sliding import Axis

SIMPLE: Any = layers.correlate.simple  # type: ignore[attr-defined]
SIMPLE_INPUT: Any = layers.input_gradient.simple  # type: ignore[attr-defined]
SIMPLE_WEIGHT: Any = layers.weight_gradient.simple  # type: ignore[attr-defined]


@st.composite
def axes(draw: Any, largest: int = 14) -> Axis:
    """An axis along which a kernel fits."""
    kernel, dilation = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    stride, padding = draw(st.integers(1, 3)), draw(st.integers(0, 3))
    reach = dilation * (kernel - 1) + 1
    size = draw(st.integers(max(1, reach - 2 * padding), largest + reach))
    out = (size + 2 * padding - reach) // stride + 1
    return Axis(size, out, kernel, stride, padding, dilation)


def one_by_one(x: Any, w: Any, rows: Axis, columns: Axis) -> Any:
    """Convolution as its definition reads."""
    out = np.zeros((len(x), len(w), rows.out, columns.out))
    for a in range(rows.out):
        for b in range(columns.out):
            for i in range(rows.kernel):
                for j in range(columns.kernel):
                    h = a * rows.stride + i * rows.dilation - rows.padding
                    v = b * columns.stride + j * columns.dilation - columns.padding
                    if 0 <= h < rows.size and 0 <= v < columns.size:
                        out[:, :, a, b] += x[:, :, h, v] @ w[:, :, i, j].T
    return out


def draw_arrays(*shapes: tuple[int, ...]) -> list[Any]:
    rng = np.random.default_rng(3)
    return [rng.standard_normal(shape) for shape in shapes]


@given(axes(largest=3), axes(largest=3), st.integers(1, 3), st.integers(1, 3), st.integers(1, 3))
def test_the_simple_form_is_the_definition(r: Axis, c: Axis, n: int, i: int, o: int) -> None:
    x, w = draw_arrays((n, i, r.size, c.size), (o, i, r.kernel, c.kernel))
    np.testing.assert_allclose(SIMPLE(x, w, r, c), one_by_one(x, w, r, c), atol=1e-12)


@given(axes(), axes(), st.integers(0, 3), st.sampled_from([1, 2, 13]), st.integers(1, 3))
def test_the_fast_forms_are_the_simple_one(r: Axis, c: Axis, n: int, i: int, o: int) -> None:
    x, w = draw_arrays((n, i, r.size, c.size), (o, i, r.kernel, c.kernel))
    out = SIMPLE(x, w, r, c)
    np.testing.assert_allclose(correlation.correlate(x, w, r, c), out, atol=1e-11)
    g = draw_arrays(out.shape)[0]
    dx, dw = SIMPLE_INPUT(g, w, r, c), SIMPLE_WEIGHT(g, x, w, r, c)
    # <g, dout> = <dx, x> = <dw, w>, for the map is linear in both
    assert np.vdot(dx, x) == pytest.approx(np.vdot(g, out), abs=1e-9)
    assert np.vdot(dw, w) == pytest.approx(np.vdot(g, out), abs=1e-9)
    np.testing.assert_allclose(correlation.weight_gradient(g, x, w, r, c), dw, atol=1e-11)
    np.testing.assert_allclose(correlation.input_gradient(g, w, r, c), dx, atol=1e-11)


@given(axes(largest=8), axes(largest=8), st.integers(1, 2), st.integers(1, 2))
def test_the_forms_for_large_maps_are_the_simple_one_on_small_maps(r: Axis, c: Axis, i: int, o: int) -> None:
    """Strides split an image into phases, of which some end before their outputs do."""
    x, w = draw_arrays((2, i, r.size, c.size), (o, i, r.kernel, c.kernel))
    out = SIMPLE(x, w, r, c)
    g = draw_arrays(out.shape)[0]
    dx = correlation._input_gradient_gathered(g, w, r, c)
    dw = correlation._weight_gradient_gathered(g, x, w, r, c)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(correlation, "SMALL_MAP", 0)
        np.testing.assert_allclose(correlation.correlate(x, w, r, c), out, atol=1e-11)
        np.testing.assert_allclose(correlation.input_gradient(g, w, r, c), dx, atol=1e-11)
        np.testing.assert_allclose(correlation.weight_gradient(g, x, w, r, c), dw, atol=1e-11)


@given(axes(), axes(), st.sampled_from([(4, 1, 4), (8, 1, 4), (4, 2, 2), (6, 2, 2)]))
def test_groups_are_convolutions_side_by_side(r: Axis, c: Axis, of: tuple[int, int, int]) -> None:
    o, i, groups = of
    x, w = draw_arrays((2, i * groups, r.size, c.size), (o, i, r.kernel, c.kernel))
    whole = np.zeros((o, i * groups, r.kernel, c.kernel))  # zeros between the groups
    for k in range(groups):
        rows = slice(k * o // groups, (k + 1) * o // groups)
        whole[rows, k * i : (k + 1) * i] = w[rows]
    out = SIMPLE(x, whole, r, c)
    g = draw_arrays(out.shape)[0]
    dx, dw = SIMPLE_INPUT(g, whole, r, c), SIMPLE_WEIGHT(g, x, whole, r, c)
    parts = [dw[k * o // groups : (k + 1) * o // groups, k * i : (k + 1) * i] for k in range(groups)]
    place = {"rows": r, "columns": c}
    for many in (
        (layers.correlate, layers.input_gradient, layers.weight_gradient),
        (SIMPLE, SIMPLE_INPUT, SIMPLE_WEIGHT),
    ):
        correlate, to_input, to_weight = (partial(each, **place) for each in many)
        np.testing.assert_allclose(layers.in_groups(groups, correlate, x, w), out, atol=1e-11)
        np.testing.assert_allclose(layers.in_groups(groups, to_input, g, w), dx, atol=1e-11)
        found = layers.in_groups(groups, to_weight, g, x, w, axis=0)
        np.testing.assert_allclose(found, np.concatenate(parts), atol=1e-11)


@pytest.mark.parametrize(("shape", "blocks"), [((2, 300, 8, 8), 1), ((9, 300, 8, 8), 2)])
def test_blocks_of_images(shape: tuple[int, ...], blocks: int) -> None:
    """More columns than one block holds."""
    axis = Axis(8, 8, 3, 1, 1)
    x, w = draw_arrays(shape, (2, shape[1], 3, 3))
    assert len(correlation._blocks(shape[0], w[0].size * 64)) == blocks
    out = SIMPLE(x, w, axis, axis)
    np.testing.assert_allclose(correlation.correlate(x, w, axis, axis), out, atol=1e-10)
    dw = correlation.weight_gradient(out, x, w, axis, axis)
    assert np.vdot(dw, w) == pytest.approx(np.vdot(out, out))
    dx = correlation.input_gradient(out, w, axis, axis)
    assert np.vdot(dx, x) == pytest.approx(np.vdot(out, out))


def test_six_products_make_four_outputs() -> None:
    """The identity behind `winograd`, exactly: in integers (G is scaled by its denominator)."""
    whole = np.rint(24 * winograd.G).astype(np.int64)
    np.testing.assert_array_equal(whole / 24, winograd.G)
    rng = np.random.default_rng(0)
    for _ in range(20):
        d, w = rng.integers(-99, 99, 6), rng.integers(-99, 99, 3)
        out = winograd.A @ ((whole @ w) * (winograd.B @ d))
        assert (out == 24 * np.correlate(d, w, "valid")).all()


@pytest.mark.parametrize("size", [(9, 9), (4, 30), (11, 8), (33, 7)])
@pytest.mark.parametrize(
    "columns",
    [(3, 1, 1, 1), (3, 1, 0, 1), (2, 0, 3, 1), (1, 0, 0, 1), (3, 2, 2, 2), (4, 7, 0, 2)]
    + [(3, 3, 3, 1), (2, 2, 2, 1), (1, 1, 1, 1), (2, 4, 3, 2)],  # more zeros than the kernel reaches
)
@pytest.mark.parametrize(("padding", "band"), [(0, 1), (1, winograd.BAND), (1, 1), (3, 1)])
def test_winograd_is_the_simple_form(
    size: tuple[int, int], columns: tuple[int, ...], padding: int, band: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(winograd, "BAND", band)  # 1: each row of tiles is a band of its own
    kernel, before, after, dilation = columns
    r = Axis(size[0], size[0] + 2 * padding - 2, 3, 1, padding)
    width = size[1] + before + after - dilation * (kernel - 1)
    c = Axis(size[1], width, kernel, 1, before, dilation)
    x, w = draw_arrays((2, 32, *size), (33, 32, 3, kernel))
    assert winograd.fits(w, r, c) and not winograd.fits(w, r, c._replace(stride=2))
    out = SIMPLE(x, w, r, c)
    made = np.empty_like(out)
    winograd.correlate(x, w, r, c, made)
    np.testing.assert_allclose(made, out, atol=1e-10)
    g = draw_arrays(out.shape)[0]
    dx, dw = winograd_gradients.gradients(g, x, w, r, c)
    np.testing.assert_allclose(dw, shifted_rows.weight_gradient(g, x, w, r, c), atol=1e-10)
    np.testing.assert_allclose(dx, correlation._input_gradient_gathered(g, w, r, c), atol=1e-10)


def test_winograd_in_float32_loses_few_digits() -> None:
    axis = Axis(24, 24, 3, 1, 1)
    x, w = draw_arrays((2, 64, 24, 24), (64, 64, 3, 3))
    exact = SIMPLE(x, w, axis, axis)
    out = correlation.correlate(x.astype(np.float32), w.astype(np.float32), axis, axis)
    assert np.abs(out - exact).max() < 1e-5 * np.abs(exact).max()
