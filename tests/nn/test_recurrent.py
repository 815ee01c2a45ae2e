"""The fast form of recurrent layers agrees with the simple one: results, last states and all gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minitorch_dist as torch
from minitorch_dist.tensors.ops.layers import recurrent
from minitorch_dist.tensors.ops.layers.recurrent_cells import CELLS

FEATURES = 3


def parts(mode: str, batch: int, rows: int, width: int, bias: bool, projection: int) -> list[Any]:
    """Random data, states and weights of a layer"""
    draw = np.random.default_rng(batch + width)
    out, high = projection or width, CELLS[mode].gates * width

    def normal(*shape: int) -> Any:
        return torch.tensor(draw.standard_normal(shape), requires_grad=True)

    return [
        normal(rows, FEATURES), normal(batch, out), normal(batch, width) if mode == "LSTM" else None,
        normal(high, FEATURES), normal(high, out),
        normal(high) if bias else None, normal(high) if bias else None,
        normal(projection, width) if projection else None,
    ]  # fmt: skip


def simple_layer(
    mode: str, steps: list[tuple[slice, int]], data: Any, h: Any, c: Any, weights: list[Any]
) -> list[Any]:
    """One direction of a layer, step by step in operations on tensors."""
    into, state, first, second, shrink = weights
    outside = data @ into.t() + (0 if first is None else first)
    rows: dict[int, Any] = {}
    for places, n in steps:
        inside = h[:n] @ state.t() + (0 if second is None else second)
        new, new_c = simple_step(mode, outside[places], inside, h[:n], None if c is None else c[:n])
        new = new if shrink is None else new @ shrink.t()
        rows[places.start] = new
        h = torch.cat([new, h[n:]], 0)
        c = c if c is None else torch.cat([new_c, c[n:]], 0)
    output = torch.cat([rows[start] for start in sorted(rows)], 0)
    return [output, h] if c is None else [output, h, c]


def simple_step(mode: str, outside: Any, inside: Any, h: Any, c: Any) -> tuple[Any, Any]:
    if mode == "LSTM":
        i, f, g, o = (outside + inside).chunk(4, 1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        return o.sigmoid() * c.tanh(), c
    if mode == "GRU":
        r_out, z_out, n_out = outside.chunk(3, 1)
        r_in, z_in, n_in = inside.chunk(3, 1)
        z = (z_out + z_in).sigmoid()
        n = (n_out + (r_out + r_in).sigmoid() * n_in).tanh()
        return (1 - z) * n + z * h, None
    total = outside + inside
    return total.relu() if mode == "RNN_RELU" else total.tanh(), None


@pytest.mark.parametrize("mode", CELLS)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(
    ("sizes", "width", "bias", "projection"),
    [([1], 1, True, 0), ([3, 3, 3, 3], 4, True, 0), ([5, 3, 2, 2, 1], 3, False, 0), ([2, 1], 4, True, 2), ([0, 0], 2, True, 0)],
)  # fmt: skip
def test_fast_and_simple_agree(
    mode: str, reverse: bool, sizes: list[int], width: int, bias: bool, projection: int
) -> None:
    projection = projection if mode == "LSTM" else 0
    data, h, c, *weights = parts(mode, sizes[0], sum(sizes), width, bias, projection)
    leaves = [t for t in (data, h, c, *weights) if t is not None]
    fast = recurrent.layer(mode, data, sizes, h, c, weights, reverse)
    walk = vars(fast[0].grad_fn.backward.__self__)
    simple = simple_layer(mode, walk["steps"], data, h, c, weights)
    gradients = []
    for results in (fast, simple):
        losses = [
            (t * torch.cos(torch.arange(t.numel()).double()).reshape(t.shape)).sum()
            for t in results
        ]
        gradients.append(torch.autograd.grad(sum(losses), leaves))
    for mine, theirs in ((fast, simple), gradients):
        for a, b in zip(mine, theirs, strict=True):
            np.testing.assert_allclose(a.detach().array, b.detach().array, rtol=1e-9, atol=1e-12)
