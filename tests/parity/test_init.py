"""`nn.init` against torch: exact where nothing is drawn, by its distribution where something is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch_dist as mtd
from tests.parity.modules import agree, caught, torch

pytestmark = pytest.mark.parity


EXACT: dict[str, Callable[[Any, Any], Any]] = {
    "constant_": lambda t, i: i.constant_(t.zeros(2, 3), 1.5),
    "ones_": lambda t, i: i.ones_(t.zeros(2, dtype=t.float64)),
    "zeros_": lambda t, i: i.zeros_(t.ones(2, 0)),
    "calculate_gain": lambda t, i: [
        i.calculate_gain(name)
        for name in [
            "linear",
            "conv1d",
            "conv2d",
            "conv3d",
            "conv_transpose2d",
            "sigmoid",
            "tanh",
            "relu",
            "leaky_relu",
            "selu",
        ]
    ],
    "calculate_gain with a slope": lambda t, i: i.calculate_gain("leaky_relu", 0.3),
    "calculate_gain wrongly": lambda t, i: caught(lambda: i.calculate_gain("nothing")),
    "fans": lambda t, i: [
        i._calculate_fan_in_and_fan_out(t.ones(4, 2, 3, 5)),
        caught(lambda: i._calculate_fan_in_and_fan_out(t.ones(4))),
        caught(lambda: i.kaiming_normal_(t.ones(4, 2), mode="fan_round")),
    ],
    "empty": lambda t, i: [
        i.kaiming_uniform_(t.ones(0, 2)),
        i.kaiming_normal_(t.ones(0, 2)),
        i.orthogonal_(t.ones(0, 2)),
    ],
    "orthogonal_ of a vector": lambda t, i: caught(lambda: i.orthogonal_(t.ones(2))),
    "of a leaf": lambda t, i: i.ones_(t.nn.Parameter(t.zeros(2))),
}


@pytest.mark.parametrize("case", EXACT)
def test_exact(case: str) -> None:
    agree(lambda t: EXACT[case](t, t.nn.init))


DRAWN: dict[str, Callable[[Any, Any], Any]] = {
    "uniform_": lambda i, w: i.uniform_(w, -1, 3),
    "normal_": lambda i, w: i.normal_(w, 2, 0.5),
    "trunc_normal_": lambda i, w: i.trunc_normal_(w),
    "trunc_normal_ narrow": lambda i, w: i.trunc_normal_(w, 0.0, 0.02),
    "trunc_normal_ tail": lambda i, w: i.trunc_normal_(w, 0.0, 1.0, 1.0, 2.0),
    "xavier_uniform_": lambda i, w: i.xavier_uniform_(w, gain=2.0),
    "xavier_normal_": lambda i, w: i.xavier_normal_(w),
    "kaiming_uniform_": lambda i, w: i.kaiming_uniform_(w, a=0.1),
    "kaiming_uniform_ out": lambda i, w: i.kaiming_uniform_(w, mode="fan_out", nonlinearity="relu"),
    "kaiming_normal_": lambda i, w: i.kaiming_normal_(w, mode="fan_out", nonlinearity="relu"),
    "orthogonal_": lambda i, w: i.orthogonal_(w, 2.0),
}


@pytest.mark.parametrize("case", DRAWN)
def test_drawn(case: str) -> None:
    """Equal quantiles, within what chance allows for 20,000 values."""
    found = []
    for t in (torch, mtd):
        t.manual_seed(1)
        w = t.nn.Parameter(t.empty(200, 100))
        assert DRAWN[case](t.nn.init, w) is w
        assert w.grad_fn is None if hasattr(w, "grad_fn") else w._grad_fn is None
        found.append(np.quantile(w.detach().numpy(), np.linspace(0.02, 0.98, 25)))
    spread = found[0].max() - found[0].min()
    np.testing.assert_allclose(found[1], found[0], atol=0.03 * spread)


def test_orthogonal_rows_or_columns() -> None:
    for shape in ((3, 5), (5, 3), (4, 2, 3)):
        w = mtd.nn.init.orthogonal_(mtd.empty(*shape)).numpy().reshape(shape[0], -1)
        small = w @ w.T if w.shape[0] < w.shape[1] else w.T @ w
        np.testing.assert_allclose(small, np.eye(min(w.shape)), atol=1e-6)


def test_one_generator_gives_the_same_draw_again() -> None:
    for name in ("uniform_", "normal_", "trunc_normal_", "xavier_normal_", "kaiming_uniform_", "orthogonal_"):
        fill = getattr(mtd.nn.init, name)
        a, b = (fill(mtd.empty(3, 4), generator=mtd.Generator().manual_seed(5)) for _ in range(2))
        np.testing.assert_array_equal(a.numpy(), b.numpy())


def test_truncation_holds_in_every_dtype() -> None:
    for dtype in (mtd.float16, mtd.bfloat16, mtd.float32, mtd.float64):
        for a, b in ((-0.1, 0.1), (1.5, 1.7)):
            w = mtd.nn.init.trunc_normal_(mtd.empty(1000, dtype=dtype), a=a, b=b).array
            low, high = np.asarray([a, b]).astype(w.dtype)
            assert (w >= low).all()
            assert (w <= high).all()
