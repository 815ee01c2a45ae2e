"""Pixels, columns, other sizes, neighbours and likeness: the functions behind the picture layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch_dist as mtd
from tests.parity.compare import same

pytestmark = pytest.mark.parity


def draw(*shape: int, dtype: Any = np.float64, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


Case = tuple[Callable[..., Any], tuple[Any, ...]]

PIXELS: dict[str, Case] = {
    "shuffle": (lambda t, x: t.pixel_shuffle(x, 2), (draw(2, 8, 3, 5),)),
    "shuffle alone": (lambda t, x: t.nn.functional.pixel_shuffle(x, 3), (draw(9, 2, 1),)),
    "shuffle batch of batches": (lambda t, x: t.pixel_shuffle(x, 2), (draw(2, 3, 4, 1, 2),)),
    "shuffle nothing": (lambda t, x: t.pixel_shuffle(x.detach(), 2), (draw(0, 4, 1, 2),)),
    "shuffle ints": (lambda t, x: t.pixel_shuffle(x, 2), (np.arange(16).reshape(1, 4, 2, 2),)),
    "shuffle strided": (lambda t, x: t.pixel_shuffle(x, 2), (draw(3, 5, 8).T,)),
    "shuffle halves": (lambda t, x: t.pixel_shuffle(x, 2), (draw(4, 2, 2, dtype=np.float16),)),
    "shuffle vector": (lambda t, x: t.pixel_shuffle(x, 2), (draw(4, 4),)),
    "shuffle odd": (lambda t, x: t.pixel_shuffle(x, 2), (draw(1, 3, 2, 2),)),
    "shuffle zero": (lambda t, x: t.pixel_shuffle(x, 0), (draw(1, 4, 2, 2),)),
}

UNFOLD: dict[str, Case] = {}

LIKENESS: dict[str, Case] = {
    "cosine": (lambda t, x, y: t.cosine_similarity(x, y), (draw(4, 3), draw(4, 3, seed=1))),
    "cosine along 0": (
        lambda t, x, y: t.nn.functional.cosine_similarity(x, y, 0, 0.5),
        (draw(4, 3), draw(4, 3, seed=1)),
    ),
    "cosine broadcast": (
        lambda t, x, y: t.cosine_similarity(x, y, dim=-1),
        (draw(4, 1, 3), draw(5, 3, seed=1)),
    ),
    "cosine of zeros": (lambda t, x, y: t.cosine_similarity(x, y), (np.zeros((2, 3)), draw(2, 3))),
    "cosine mixed": (
        lambda t, x, y: t.cosine_similarity(x, y),
        (draw(2, 3), np.arange(6).reshape(2, 3)),
    ),
    "cosine ints": (lambda t, x: t.cosine_similarity(x, x), (np.arange(6).reshape(2, 3),)),
    "cosine wrongly": (lambda t, x, y: t.cosine_similarity(x, y), (draw(2, 3), draw(2, 4))),
    "normalize": (lambda t, x: t.nn.functional.normalize(x), (draw(4, 3),)),
    "normalize all": (lambda t, x: t.nn.functional.normalize(x, 1.0, (0, 1), 30.0), (draw(4, 3),)),
    "normalize zeros": (lambda t, x: t.nn.functional.normalize(x, dim=0), (np.zeros((2, 3)),)),
}

TABLES = (PIXELS, UNFOLD, LIKENESS)


@pytest.mark.parametrize("table, name", [(table, name) for table in TABLES for name in table])
def test_as_in_torch(table: dict[str, Case], name: str) -> None:
    expression, arrays = table[name]
    halves = any(a.dtype == np.float16 for a in arrays)
    same(expression, *arrays, rtol=1e-2 if halves else 1e-6, atol=1e-2 if halves else 1e-9)


# ------------------------------------------------------------------------------------------ other sizes


MODES = {

         }  # fmt: skip
SETTINGS: list[dict[str, Any]] = [
    {"size": 3}, {"size": 7}, {"size": 1}, {"scale_factor": 2}, {"scale_factor": 1.7},
    {"scale_factor": 0.6}, {"scale_factor": 1.7, "recompute_scale_factor": True},
    {"size": 7, "align_corners": True}, {"size": 1, "align_corners": True},
    {"scale_factor": 1.7, "align_corners": True}, {"scale_factor": 2, "align_corners": False},
]  # fmt: skip


@pytest.mark.parametrize("dims, mode", [(d, m) for d in MODES for m in MODES[d]])
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_interpolate(dims: int, mode: str, settings: dict[str, Any]) -> None:
    if mode in ("nearest", "nearest-exact", "area"):
        settings = {k: v for k, v in settings.items() if k != "align_corners"}
    x = draw(2, 3, *(5, 4, 3)[:dims])
    same(
        lambda t, x: t.nn.functional.interpolate(x, mode=mode, **settings), x, rtol=1e-6, atol=1e-8
    )


@pytest.mark.parametrize(
    "mode",
    [
        "nearest",
        "bilinear",
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_interpolate_in_other_precisions(mode: str, dtype: Any) -> None:
    wide = dtype is np.float16
    for settings in ({"size": (11, 13)}, {"scale_factor": (0.9, 1.1)}, {"scale_factor": 2.05}):
        same(
            lambda t, x, s=settings: t.nn.functional.interpolate(x, mode=mode, **s),
            draw(2, 2, 9, 7, dtype=dtype),
            rtol=1e-2 if wide else 1e-4,
            atol=1e-2 if wide else 1e-5,
        )


WRONG: list[tuple[tuple[int, ...], dict[str, Any]]] = [
    ((1, 2, 3), {}), ((1, 2, 3), {"size": 2, "scale_factor": 2}),
    ((1, 2, 3), {"scale_factor": 2, "mode": "bilinear"}),
    ((1, 2, 3, 3), {"scale_factor": 2, "mode": "linear"}),
    ((1, 2, 3, 3), {"scale_factor": 2, "align_corners": True}), ((1, 2, 3, 3), {"size": (1, 2, 3)}),
    ((2, 3), {"size": 3}), ((1, 2, 3, 3), {"size": (0, 2)}), ((1, 2, 3, 3), {"size": 2, "mode": "foo"}),
    ((1, 2, 3, 3), {"scale_factor": (1.0, 2.0, 2.0)}), ((1, 2, 3, 3), {"size": 1.5}),
    ((1, 2, 3, 3), {"size": 2, "recompute_scale_factor": True}), ((1, 2, 3, 3), {"scale_factor": 0.1}),
]  # fmt: skip


@pytest.mark.parametrize("shape, settings", WRONG, ids=str)
def test_interpolate_refuses(shape: tuple[int, ...], settings: dict[str, Any]) -> None:
    same(lambda t, x: t.nn.functional.interpolate(x, **settings), draw(*shape))


def test_interpolate_integers() -> None:
    for dtype in (np.int64, bool):
        x = np.arange(18).reshape(1, 2, 3, 3).astype(dtype)
        same(lambda t, x: t.nn.functional.interpolate(x, size=(2, 5)), x)


def test_an_infinite_pixel_stays_alone() -> None:
    x = mtd.zeros(1, 1, 4, 4)
    x[0, 0, 1, 1] = float("inf")
    out = mtd.nn.functional.interpolate(x, scale_factor=2).numpy()
    assert np.isinf(out).sum() == 4
    assert not np.isnan(out).any()
