"""A small transformer, in which a lesson's modules take the place of its own.

losses()                                   of four steps, on one rank
losses({"blocks.*.mlp": Yours(make)})      the same, where make(module) computes instead of each of these modules

The library's `parallelize_module` carries the plan out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import nn
from minitorch_dist.distributed.device_mesh import DeviceMesh, init_device_mesh
from minitorch_dist.distributed.tensor.parallel import ParallelStyle, parallelize_module
from minitorch_dist.nn.functional import cross_entropy, layer_norm
from minitorch_dist.optim import Adam
from minitorch_dist.tensors.tensor import Tensor

WORDS, WIDTH, HEADS, BLOCKS, TOKENS, STEPS = 11, 12, 6, 2, 12, 4


def causal(scores: Tensor) -> Tensor:
    """Weights of what came before, of one head or of several."""
    later = torch.ones(*scores.shape[-2:], dtype=scores.dtype, device=scores.device).triu(1) * -1e9
    return (scores + later).softmax(-1)


def _linear(inputs: int, outputs: int) -> nn.Linear:
    return nn.Linear(inputs, outputs, dtype=torch.float64)


class Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.output = (_linear(width, width) for _ in range(4))

    def forward(self, x: Tensor) -> Tensor:
        layers = self.query, self.key, self.value
        q, k, v = (layer(x).view(len(x), self.heads, -1).transpose(0, 1) for layer in layers)
        found = causal(q @ k.transpose(1, 2)) @ v
        return self.output(found.transpose(0, 1).reshape(x.shape))


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.attention = Attention(width, heads)
        self.mlp = nn.Sequential(_linear(width, 4 * width), nn.ReLU(), _linear(4 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(layer_norm(x, x.shape[-1:]))
        return x + self.mlp(layer_norm(x, x.shape[-1:]))


class SmallTransformer(nn.Module):
    def __init__(self, width: int = WIDTH, heads: int = HEADS, blocks: int = BLOCKS) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.words = nn.Embedding(WORDS, width, dtype=torch.float64)
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(blocks)])
        self.head = _linear(width, WORDS)

    def forward(self, words: Tensor) -> Tensor:
        return self.head(self.blocks(self.words(words)))


class Yours(ParallelStyle):
    """A style of one's own: what `make` makes of a module takes its place."""

    def __init__(self, make: Callable[[Any], nn.Module]) -> None:
        self.make = make

    def _apply(self, module: nn.Module, mesh: DeviceMesh) -> nn.Module:
        mine = self.make(module)
        module._modules.clear()
        module.mine, module.forward = mine, mine.forward  # type: ignore[method-assign]
        return module


def losses(plan: Mapping[str, Yours] | None = None) -> list[float]:
    """Of each step. All ranks take the same words."""
    model = SmallTransformer()
    if plan is not None:
        parallelize_module(model, init_device_mesh("cpu", (dist.get_world_size(),)), plan)
    optimizer, found = Adam(model.parameters(), lr=0.02), []
    words = torch.arange(TOKENS + 1) * 7 % WORDS
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss: Any = cross_entropy(model(words[:-1]), words[1:])
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found
