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
}

LINEAR: dict[str, tuple[Make, Any]] = {
    "Linear": (lambda nn: nn.Linear(3, 5), draw(4, 3)),
    "Linear without bias": (lambda nn: nn.Linear(3, 5, bias=False), draw(2, 4, 3)),
    "Linear of a vector": (lambda nn: nn.Linear(3, 5), draw(3)),
    "Linear of nothing": (lambda nn: nn.Linear(3, 5), draw(0, 3)),
    "Linear chain": (lambda nn: nn.Sequential(nn.Linear(3, 4), nn.Identity(), nn.Linear(4, 2)), draw(5, 3)),
}

POOL: dict[str, tuple[Make, Any]] = {
    "MaxPool2d": (lambda nn: nn.MaxPool2d(2), draw(2, 3, 6, 7)),
    "AvgPool2d": (lambda nn: nn.AvgPool2d((3, 2), stride=2, padding=1), draw(2, 3, 6, 7)),
    "AdaptiveAvgPool2d": (lambda nn: nn.AdaptiveAvgPool2d((2, None)), draw(2, 3, 5, 7)),
    "AdaptiveAvgPool2d one": (lambda nn: nn.AdaptiveAvgPool2d(1), draw(2, 3, 5, 7)),
}

NORM: dict[str, tuple[Make, Any]] = {
    "BatchNorm1d": (lambda nn: nn.BatchNorm1d(3), draw(5, 3)),
    "BatchNorm1d series": (lambda nn: nn.BatchNorm1d(3, eps=0.1, momentum=0.3), draw(5, 3, 4)),
    "BatchNorm1d cumulative": (lambda nn: nn.BatchNorm1d(3, momentum=None), draw(5, 3)),
    "BatchNorm1d plain": (lambda nn: nn.BatchNorm1d(3, affine=False), draw(5, 3)),
    "BatchNorm1d no bias": (lambda nn: nn.BatchNorm1d(3, bias=False), draw(5, 3)),
    "BatchNorm1d untracked": (lambda nn: nn.BatchNorm1d(3, track_running_stats=False), draw(5, 3)),
    "BatchNorm1d one value": (lambda nn: nn.BatchNorm1d(3), draw(1, 3)),
    "BatchNorm1d wrong": (lambda nn: nn.BatchNorm1d(3), draw(3)),
    "BatchNorm2d": (lambda nn: nn.BatchNorm2d(3), draw(2, 3, 4, 5)),
    "BatchNorm2d wrong": (lambda nn: nn.BatchNorm2d(3), draw(5, 3)),
    "InstanceNorm1d": (lambda nn: nn.InstanceNorm1d(3), draw(2, 3, 4)),
    "InstanceNorm1d single": (lambda nn: nn.InstanceNorm1d(3), draw(3, 4)),
    "InstanceNorm2d wrong": (lambda nn: nn.InstanceNorm2d(4, affine=True), draw(2, 3, 4, 5)),
    "LayerNorm": (lambda nn: nn.LayerNorm(4), draw(2, 3, 4)),
    "LayerNorm two": (lambda nn: nn.LayerNorm([3, 4], eps=0.1, bias=False), draw(2, 3, 4)),
    "LayerNorm plain": (lambda nn: nn.LayerNorm((4,), elementwise_affine=False), draw(2, 4)),
    "RMSNorm": (lambda nn: nn.RMSNorm(4), draw(2, 3, 4)),
    "RMSNorm eps": (lambda nn: nn.RMSNorm([3, 4], 0.1, elementwise_affine=False), draw(2, 3, 4)),
    "GroupNorm": (lambda nn: nn.GroupNorm(2, 4), draw(3, 4, 5)),
    "GroupNorm plain": (lambda nn: nn.GroupNorm(4, 4, 0.1, affine=False), draw(3, 4, 2, 2)),
}

ACTIVATION: dict[str, tuple[Make, Any]] = {
    "ReLU": (lambda nn: nn.ReLU(), draw(3, 4)),
    "LeakyReLU": (lambda nn: nn.LeakyReLU(0.2), draw(3, 4)),
    "Sigmoid": (lambda nn: nn.Sigmoid(), draw(3, 4)),
    "Tanh": (lambda nn: nn.Tanh(), draw(3, 4)),
    "LogSigmoid": (lambda nn: nn.LogSigmoid(), draw(3, 4)),
    "SiLU": (lambda nn: nn.SiLU(), draw(3, 4)),
    "ELU": (lambda nn: nn.ELU(0.5), draw(3, 4)),
    "GELU": (lambda nn: nn.GELU(), draw(3, 4)),
    "GELU tanh": (lambda nn: nn.GELU("tanh"), draw(3, 4)),
    "Softplus": (lambda nn: nn.Softplus(2.0, 1.0), draw(3, 4)),
    "Softmax": (lambda nn: nn.Softmax(1), draw(3, 4)),
    "LogSoftmax": (lambda nn: nn.LogSoftmax(dim=-1), draw(3, 4)),
}


CONV: dict[str, tuple[Make, Any]] = {
    "Conv1d": (lambda nn: nn.Conv1d(3, 4, 3), draw(2, 3, 8)),
    "Conv1d all": (lambda nn: nn.Conv1d(4, 6, 3, 2, 1, 2, 2, False), draw(2, 4, 11)),
    "Conv1d single": (lambda nn: nn.Conv1d(3, 4, 3), draw(3, 8)),
    "Conv2d": (lambda nn: nn.Conv2d(3, 4, 3), draw(2, 3, 6, 7)),
    "Conv2d tuples": (lambda nn: nn.Conv2d(4, 6, (3, 2), (2, 1), (1, 0), (1, 2), groups=2), draw(2, 4, 7, 8)),
    "Conv2d same": (lambda nn: nn.Conv2d(3, 2, (3, 4), padding="same"), draw(2, 3, 5, 6)),
    "Conv2d valid": (lambda nn: nn.Conv2d(3, 2, 3, padding="valid"), draw(2, 3, 5, 6)),
    "ConvTranspose2d": (
        lambda nn: nn.ConvTranspose2d(4, 2, (3, 2), (2, 3), (1, 0), (1, 2), bias=False),
        draw(2, 4, 5, 4),
    ),
}


WORDS = np.array([[0, 2, 5], [5, 1, 2]])

TABLES: dict[str, tuple[Make, Any]] = {
    "Embedding": (lambda nn: nn.Embedding(6, 3), WORDS),
    "Embedding padding": (lambda nn: nn.Embedding(6, 3, padding_idx=-1), WORDS),
    "EmbeddingBag": (lambda nn: nn.EmbeddingBag(6, 3), WORDS),
}


PICTURES: dict[str, tuple[Make, Any]] = {"PixelShuffle": (lambda nn: nn.PixelShuffle(2), draw(2, 8, 3, 2))}


EVERY = [(table, name) for table in (SHAPES, LINEAR, POOL, NORM, ACTIVATION, CONV, TABLES, PICTURES) for name in table]


@pytest.mark.parametrize("table, name", EVERY)
@pytest.mark.parametrize("train", [True, False])
def test_layer(table: dict[str, tuple[Make, Any]], name: str, train: bool) -> None:
    make, x = table[name]
    same_layer(make, *(x if isinstance(x, tuple) else (x,)), train=train)


WRONG: dict[str, Callable[[Any, Any], Any]] = {"GroupNorm": lambda t, nn: nn.GroupNorm(2, 3)}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_settings(case: str) -> None:
    agree(lambda t: kind_of_error(lambda: WRONG[case](t, t.nn)))


STARTS: dict[str, tuple[Make, float]] = {
    "Linear": (lambda nn: nn.Linear(50, 400), 1 / 50**0.5),
    "Conv2d": (lambda nn: nn.Conv2d(6, 40, (3, 5), groups=2), 1 / 45**0.5),
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
