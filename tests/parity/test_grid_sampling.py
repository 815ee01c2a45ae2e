"""grid_sample and affine_grid are torch's, with both gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.parity.compare import mtd, same, torch
from tests.parity.modules import kind_of_error

pytestmark = pytest.mark.parity


@pytest.mark.parametrize("aligned", [True, False])
@pytest.mark.parametrize("size", [(2, 1, 3, 4), (1, 2, 1, 5), (2, 3, 2, 2)])
def test_grids(size: tuple[int, ...], aligned: bool) -> None:
    theta = np.sin(np.arange(size[0] * 6.0)).reshape(size[0], 2, 3)
    same(lambda t, x: t.nn.functional.affine_grid(x, size, aligned), theta)


@pytest.mark.parametrize("aligned", [True, False])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
def test_pixels(mode: str, padding: str, aligned: bool) -> None:
    draw = np.random.default_rng(0)
    image, grid = draw.normal(size=(2, 3, 4, 5)), draw.uniform(-1.9, 1.9, (2, 3, 2, 2))

    def program(t: Any, x: Any, g: Any = grid) -> Any:
        g = t.from_numpy(g) if g is grid else g
        return t.nn.functional.grid_sample(x, g, mode, padding, aligned) ** 2

    same(program, image, *([grid] if mode == "bilinear" else []))  # the nearest does not move


def test_a_spatial_transformer() -> None:
    def program(t: Any, x: Any, theta: Any) -> Any:
        F = t.nn.functional
        return F.grid_sample(x, F.affine_grid(theta, x.shape, False), align_corners=False)

    draw = np.random.default_rng(1)
    same(program, draw.normal(size=(2, 1, 5, 5)), draw.normal(size=(2, 2, 3)) * 0.3)


def test_refusals() -> None:
    def wrong(t: Any, mode: str = "bilinear", padding: str = "zeros", **shape: Any) -> Any:
        x, g = t.ones(1, 1, 2, 2), t.ones(shape.get("grid", (1, 2, 2, 2)))
        return t.nn.functional.grid_sample(x, g, mode, padding, False)

    for told in ({"mode": "linear"}, {"padding": "wrap"}, {"grid": (2, 2, 2, 2)}):
        theirs, ours = (
            kind_of_error(lambda t=t, told=told: wrong(t, **told)) for t in (torch, mtd)
        )
        assert theirs == ours


def test_both_warn_of_the_default() -> None:
    for t in (torch, mtd):
        with pytest.warns(UserWarning, match="align_corners=False since 1.3.0"):
            t.nn.functional.affine_grid(t.ones(1, 2, 3), (1, 1, 2, 2))
