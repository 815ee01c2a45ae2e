"""The fast form of recurrent layers agrees with the simple one: results, last states and all gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minitorch_dist as torch
from minitorch_dist.tensors.ops.layers import recurrent

FEATURES = 3


def parts(mode: str, steps: int, batch: int, width: int, bias: bool) -> list[Any]:
    """Random data, states and weights of a layer"""
    draw, high = np.random.default_rng(batch + width), recurrent.GATES[mode] * width

    def normal(*shape: int) -> Any:
        return torch.tensor(draw.standard_normal(shape), requires_grad=True)

    return [
        normal(steps, batch, FEATURES),
        normal(batch, width),
        normal(batch, width) if mode == "LSTM" else None,
        normal(high, FEATURES),
        normal(high, width),
        normal(high) if bias else None,
        normal(high) if bias else None,
    ]


@pytest.mark.parametrize("mode", recurrent.GATES)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(
    ("steps", "batch", "width", "bias"), [(1, 1, 1, True), (4, 3, 4, True), (5, 2, 3, False), (2, 0, 2, True)]
)
def test_fast_and_simple_agree(mode: str, reverse: bool, steps: int, batch: int, width: int, bias: bool) -> None:
    data, h, c, *weights = parts(mode, steps, batch, width, bias)
    leaves = [t for t in (data, h, c, *weights) if t is not None]
    fast = recurrent.layer(mode, data, h, c, weights, reverse)
    simple = recurrent.layer.simple(mode, data, h, c, weights, reverse)  # type: ignore[attr-defined]
    gradients = []
    for results in (fast, simple):
        losses = [(t * torch.cos(torch.arange(t.numel()).double()).reshape(t.shape)).sum() for t in results]
        gradients.append(torch.autograd.grad(sum(losses), leaves))
    for mine, theirs in ((fast, simple), gradients):
        for a, b in zip(mine, theirs, strict=True):
            np.testing.assert_allclose(a.detach().array, b.detach().array, rtol=1e-9, atol=1e-12)
