"""Pooling against torch's: windows that overlap, hang over, are dilated or padded; ties; refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.parity.compare import same

pytestmark = pytest.mark.parity

SHAPES = [
    {"kernel_size": 2},
    {"kernel_size": 3, "stride": 2, "padding": 1},
    {"kernel_size": 3, "stride": 1, "padding": 1},
    {"kernel_size": (2, 3), "stride": (3, 1)},
    {"kernel_size": 1, "stride": 3},
    {"kernel_size": (9, 8)},
    {"kernel_size": (2,), "stride": (2,), "padding": (1,)},
]
DILATED = [{"kernel_size": 3, "dilation": 2, "padding": 1}, {"kernel_size": (2, 3), "stride": 1, "dilation": (3, 1)}]


def images(*shape: int, ties: bool = False, dtype: Any = np.float64) -> np.ndarray[Any, Any]:
    x = np.random.default_rng(4).standard_normal(shape)
    return (x.round() if ties else x).astype(dtype)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("shape", [(2, 3, 9, 8), (3, 9, 8), (0, 3, 9, 8)])
@pytest.mark.parametrize("arguments", SHAPES + DILATED)
def test_max_pool2d(arguments: Any, shape: tuple[int, ...], ties: bool) -> None:
    x = images(*shape, ties=ties)
    same(lambda t, x: t.nn.functional.max_pool2d(x, **arguments), x)


@pytest.mark.parametrize("shape", [(2, 3, 9, 8), (3, 9, 8), (0, 3, 9, 8)])
@pytest.mark.parametrize("arguments", SHAPES)
def test_avg_pool2d(arguments: Any, shape: tuple[int, ...]) -> None:
    x = images(*shape)
    same(lambda t, x: t.nn.functional.avg_pool2d(x, **arguments), x)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int64, np.int32, np.uint8])
def test_types(dtype: Any) -> None:
    x = (4 * np.abs(images(2, 3, 8, 8))).astype(dtype)
    same(lambda t, x: t.nn.functional.max_pool2d(x, 2), x)
    same(lambda t, x: t.nn.functional.max_pool2d(x, 3, 2, 1), x, rtol=2e-3)
    if dtype in (np.float32, np.float16):
        same(lambda t, x: t.nn.functional.avg_pool2d(x, 3, 2, 1), x, rtol=2e-3, atol=1e-3)
        same(lambda t, x: t.nn.functional.adaptive_avg_pool2d(x, 3), x, rtol=2e-3, atol=1e-3)


def test_the_smallest_of_values() -> None:
    """Padding is below everything, and infinite and undefined elements keep their place."""
    x = np.full((1, 1, 4, 4), -np.inf)
    same(lambda t, x: t.nn.functional.max_pool2d(x, 3, 2, 1), x)
    x = images(1, 1, 6, 6)
    x[0, 0, 2, 3] = np.nan
    same(lambda t, x: t.nn.functional.max_pool2d(x, 3, 2, 1), x, grad=False)


def test_not_contiguous() -> None:
    x = images(9, 8, 3, 2).transpose(3, 2, 1, 0)
    same(lambda t, x: t.nn.functional.max_pool2d(x, 3, 2, 1), x)
    same(lambda t, x: t.nn.functional.avg_pool2d(x, 3, 2, 1).sum(), x)
    same(lambda t, x: t.nn.functional.adaptive_avg_pool2d(x, 3), x)


REFUSED: list[tuple[tuple[int, ...], dict[str, Any]]] = [
    ((2, 3, 8, 8), {"kernel_size": 2, "padding": 2}),
    ((2, 3, 8, 8), {"kernel_size": 2, "padding": -1}),
    ((1, 1, 1, 1), {"kernel_size": 2}),
    ((1, 1, 1, 8, 8), {"kernel_size": 2}),
    ((2, 3, 8, 8), {"kernel_size": 0}),
    ((2, 3, 8, 8), {"kernel_size": 2, "stride": 0}),
    ((2, 3, 8, 8), {"kernel_size": (2, 2, 2)}),
    ((2, 0, 8, 8), {"kernel_size": 2}),
    ((2, 3, 0, 8), {"kernel_size": 2}),
]


@pytest.mark.parametrize(("shape", "arguments"), REFUSED)
def test_refusals(shape: tuple[int, ...], arguments: Any) -> None:
    same(lambda t, x: t.nn.functional.max_pool2d(x, **arguments), images(*shape))
    same(lambda t, x: t.nn.functional.avg_pool2d(x, **arguments), images(*shape))


def test_more_refusals() -> None:
    x = images(2, 3, 8, 8)
    same(lambda t, x: t.nn.functional.max_pool2d(x, 3, 1, 2, 2), x)
    same(lambda t, x: t.nn.functional.max_pool2d(x, 2, dilation=0), x)
    same(lambda t, x: t.nn.functional.max_pool2d(x, 2), x > 0)
    for target in (-1,):
        same(lambda t, x, n=target: t.nn.functional.adaptive_avg_pool2d(x, n), x)
    same(lambda t, x: t.nn.functional.adaptive_avg_pool2d(x, 2), x[0, 0])
    same(lambda t, x: t.nn.functional.adaptive_avg_pool2d(x, 2), x[:, :, :0])
    same(lambda t, x: t.nn.functional.adaptive_avg_pool2d(x, 2), x.astype(np.int64))
