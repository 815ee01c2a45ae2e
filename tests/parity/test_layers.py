"""Every layer against torch's, from equal weights: repr, state, outputs, gradients, buffers, errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.parity.modules import agree, caught, kind_of_error, same_layer

pytestmark = pytest.mark.parity

Make = Callable[[Any], Any]


def draw(*shape: int, dtype: Any = np.float32, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


SHAPES: dict[str, tuple[Make, Any]] = {
    "Identity": (lambda nn: nn.Identity(3, x=4), draw(2, 3)),
    "Flatten": (lambda nn: nn.Flatten(), draw(2, 3, 4)),
    "Flatten dims": (lambda nn: nn.Flatten(0, 1), draw(2, 3, 4)),
    "Unflatten": (lambda nn: nn.Unflatten(1, (2, -1)), draw(2, 6)),
}

LINEAR: dict[str, tuple[Make, Any]] = {
    "Linear": (lambda nn: nn.Linear(3, 5), draw(4, 3)),
    "Linear without bias": (lambda nn: nn.Linear(3, 5, bias=False), draw(2, 4, 3)),
    "Linear of a vector": (lambda nn: nn.Linear(3, 5), draw(3)),
    "Linear of nothing": (lambda nn: nn.Linear(3, 5), draw(0, 3)),
    "Linear chain": (
        lambda nn: nn.Sequential(nn.Linear(3, 4), nn.Identity(), nn.Linear(4, 2)),
        draw(5, 3),
    ),
}

POOL: dict[str, tuple[Make, Any]] = {
    "MaxPool1d": (lambda nn: nn.MaxPool1d(3, 2, 1), draw(2, 3, 9)),
    "MaxPool1d indices": (lambda nn: nn.MaxPool1d(2, return_indices=True), draw(2, 3, 9)),
    "MaxPool2d": (lambda nn: nn.MaxPool2d(2), draw(2, 3, 6, 7)),
    "MaxPool2d all": (
        lambda nn: nn.MaxPool2d((3, 2), (2, 1), (1, 0), (1, 2), True, True),
        draw(2, 3, 6, 7),
    ),
    "AvgPool1d": (lambda nn: nn.AvgPool1d(3, 2, 1, True, False), draw(2, 3, 9)),
    "AvgPool2d": (lambda nn: nn.AvgPool2d((3, 2), stride=2, padding=1), draw(2, 3, 6, 7)),
    "AvgPool2d divisor": (lambda nn: nn.AvgPool2d(2, divisor_override=3), draw(2, 3, 6, 7)),
    "AdaptiveAvgPool1d": (lambda nn: nn.AdaptiveAvgPool1d(4), draw(2, 3, 9)),
    "AdaptiveAvgPool2d": (lambda nn: nn.AdaptiveAvgPool2d((2, None)), draw(2, 3, 5, 7)),
    "AdaptiveAvgPool2d one": (lambda nn: nn.AdaptiveAvgPool2d(1), draw(2, 3, 5, 7)),
    "AdaptiveMaxPool1d": (lambda nn: nn.AdaptiveMaxPool1d(4), draw(2, 3, 9)),
    "AdaptiveMaxPool2d": (lambda nn: nn.AdaptiveMaxPool2d((2, 3), True), draw(2, 3, 5, 7)),
}


@pytest.mark.parametrize("table, name", [(t, n) for t in (SHAPES, LINEAR, POOL) for n in t])
@pytest.mark.parametrize("train", [True, False])
def test_layer(table: dict[str, tuple[Make, Any]], name: str, train: bool) -> None:
    make, x = table[name]
    same_layer(make, *(x if isinstance(x, tuple) else (x,)), train=train)


@pytest.mark.parametrize("bias", [True, False])
def test_bilinear(bias: bool) -> None:
    same_layer(lambda nn: nn.Bilinear(3, 4, 2, bias=bias), draw(5, 3), draw(5, 4))


WRONG: dict[str, Callable[[Any, Any], Any]] = {
    "Unflatten size": lambda t, nn: nn.Unflatten(1, 3),
    "Unflatten element": lambda t, nn: nn.Unflatten(1, (1, "a")),
    "Bilinear": lambda t, nn: nn.Bilinear(0, 1, 1),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_settings(case: str) -> None:
    agree(lambda t: kind_of_error(lambda: WRONG[case](t, t.nn)))


STARTS: dict[str, tuple[Make, float]] = {
    "Linear": (lambda nn: nn.Linear(50, 400), 1 / 50**0.5),
    "Bilinear": (lambda nn: nn.Bilinear(30, 20, 20), 1 / 30**0.5),
}


@pytest.mark.parametrize("name", STARTS)
def test_default_values_are_uniform_within_torchs_bound(name: str) -> None:
    import minitorch_dist as mtd

    make, bound = STARTS[name]
    for p in make(mtd.nn).parameters():
        values = p.detach().numpy()
        assert abs(values).max() <= bound
        if values.size > 300:
            assert abs(values).max() > 0.97 * bound
            assert abs(values.mean()) < 0.1 * bound
            assert values.std() == pytest.approx(bound / 3**0.5, rel=0.08)


def test_dtypes_of_new_layers() -> None:
    def program(t: Any) -> Any:
        return [
            t.nn.Linear(2, 3, dtype=t.float64).weight.dtype,
            t.nn.Linear(2, 3, device="cpu").weight.device,
            t.nn.Linear(2, 0).weight.shape[0],
            caught(lambda: t.nn.Linear(2, 3)(t.zeros(2, 3))),
        ]

    agree(program)
