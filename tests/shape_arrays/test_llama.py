"""A layer of Llama 3 8B on the device meta: its operations are those of the formula, and it takes no memory."""

from __future__ import annotations

import tracemalloc

import pytest

import minitorch_dist as torch
from minitorch_dist import nn
from minitorch_dist.utils.flop_counter import FlopCounterMode

WIDTH, HEADS, GROUPS, INNER, LENGTH = 4096, 32, 8, 14336, 8192
HEAD = WIDTH // HEADS


class Layer(nn.Module):
    """Attention with fewer heads for keys and values, then a gated layer."""

    def __init__(self) -> None:
        super().__init__()
        self.before_attention, self.before_inner = nn.RMSNorm(WIDTH), nn.RMSNorm(WIDTH)
        self.query = nn.Linear(WIDTH, WIDTH, bias=False)
        self.key = nn.Linear(WIDTH, GROUPS * HEAD, bias=False)
        self.value = nn.Linear(WIDTH, GROUPS * HEAD, bias=False)
        self.out = nn.Linear(WIDTH, WIDTH, bias=False)
        self.gate = nn.Linear(WIDTH, INNER, bias=False)
        self.up = nn.Linear(WIDTH, INNER, bias=False)
        self.down = nn.Linear(INNER, WIDTH, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.before_attention(x)
        q, k, v = (
            part.unflatten(-1, (-1, HEAD)).transpose(1, 2) for part in (self.query(y), self.key(y), self.value(y))
        )
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        x = x + self.out(y.transpose(1, 2).flatten(-2))
        y = self.before_inner(x)
        return x + self.down(nn.functional.silu(self.gate(y)) * self.up(y))


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
def test_operations_of_a_layer_are_those_of_the_formula(kind: torch.dtype) -> None:
    weights = 2 * WIDTH * WIDTH + 2 * WIDTH * GROUPS * HEAD + 3 * WIDTH * INNER
    # Forwards each weight and each pair of positions is used once, and backwards twice.
    products, scores = 2 * LENGTH * weights, 2 * 2 * LENGTH * LENGTH * WIDTH
    tracemalloc.start()
    try:
        with torch.device("meta"):
            layer = Layer().to(kind)
            x = torch.randn(1, LENGTH, WIDTH, dtype=kind, requires_grad=True)
        with FlopCounterMode(display=False) as counted:
            layer(x).sum().backward()
        assert tracemalloc.get_traced_memory()[1] < 100e6
    finally:
        tracemalloc.stop()
    assert counted.get_total_flops() == 3 * (products + scores)
    assert x.grad is not None and x.grad.shape == x.shape and x.grad.is_meta
    assert all(p.grad is not None and p.grad.shape == p.shape for p in layer.parameters())
    assert sum(p.nbytes for p in layer.parameters()) == kind.itemsize * (weights + 2 * WIDTH)
