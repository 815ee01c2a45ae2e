"""Selective checkpointing: some results are kept, and only the others are computed again.

    first time     every matrix product and attention ──► results, of which some are kept
    second time    what was kept is taken, instead of being computed

Kept are the results of attention and of every second product, counted within a layer, as torchtitan does. A result
that was kept is a node of the graph like any other; it only takes no time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import minitorch_dist as torch
from minitorch_dist.autograd.function import Function
from minitorch_dist.nn import functional as F
from minitorch_dist.nn.modules.linear import Linear
from minitorch_dist.tensors import flops
from minitorch_dist.tensors.core import base
from minitorch_dist.tensors.tensor import Tensor
from mtd.planning import tiled_attention
from mtd.planning.tiled_attention import AttentionTiles


class KeptResults:
    """The results of one layer for one micro-batch. `run` is around each run of the layer."""

    def __init__(self) -> None:
        self.kept: list[Any] = []
        self.is_again = False
        self.products = 0

    @contextmanager
    def run(self) -> Iterator[None]:
        self.is_again, self.products = bool(self.kept), 0
        token = _present.set(self)
        try:
            yield
        finally:
            _present.reset(token)

    def keeps_this(self) -> bool:
        """Whether the product that comes now is one of those that are kept: the first, the third …"""
        self.products += 1
        return self.products % 2 == 1

    def take(self) -> Any:
        """The first of the kept results that nobody has taken yet; None the first time."""
        return self.kept.pop(0) if self.is_again else None

    def keep(self, result: Any) -> None:
        if not self.is_again:
            self.kept.append(result)


_present: ContextVar[KeptResults | None] = ContextVar("kept results", default=None)


class KeptProduct(Function):
    """A linear layer whose result was kept, or is to be; or whose products are in float8."""

    @staticmethod
    def forward(
        ctx: Any, keeper: KeptResults | None, kind: str, x: Tensor, weight: Tensor, bias: Tensor | None
    ) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.kind = kind
        array = keeper.take() if keeper else None
        if array is not None:
            return base.new(Tensor, array, x.device)
        with products_in(kind, x, weight):
            out = F.linear(x, weight, bias)
        if keeper:
            keeper.keep(out.array)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        x, weight = ctx.saved_tensors
        rows = grad.flatten(0, -2)
        with products_in(ctx.kind, grad):
            d_weight = rows.t() @ x.flatten(0, -2)
            d_input = grad @ weight
        d_bias = rows.sum(0) if ctx.tensor_args[-1] else None
        return None, None, d_input, d_weight, d_bias


@contextmanager
def products_in(kind: str, *read: Tensor) -> Iterator[None]:
    """Products inside are of this kind. Those of float8 are of numbers that are rounded first: one pass finds the largest, and one writes
    them. The numbers that are computed here stay those of bfloat16."""
    if kind != "float8":
        yield
        return
    for each in read:
        each.detach().abs().to(torch.int8)
    token = flops.precision.set(kind)
    try:
        yield
    finally:
        flops.precision.reset(token)


class WeightMatrix(Linear):
    """A linear layer that looks whether its result is kept. `transformer.fill` fills it. `kind`: in which it multiplies."""

    def __init__(self, inputs: int, outputs: int, bias: bool, kind: str = "bfloat16") -> None:
        super().__init__(inputs, outputs, bias=bias)
        self.kind = kind

    def reset_parameters(self) -> None:
        pass

    def forward(self, x: Any) -> Any:
        keeper = _present.get()
        keeps = keeper is not None and keeper.keeps_this()
        if not keeps and self.kind != "float8":
            return super().forward(x)
        return KeptProduct.apply(keeper if keeps else None, self.kind, x, self.weight, self.bias)


def attention(query: Tensor, key: Tensor, value: Tensor, tiles: AttentionTiles) -> Tensor:
    """Attention in tiles; its result is kept."""
    keeper = _present.get()
    found = keeper.take() if keeper else None
    if keeper and found is None:
        found = tiled_attention.outputs(query, key, value, tiles)
        keeper.keep(found)
    return tiled_attention.tiled_attention(query, key, value, tiles, found)
