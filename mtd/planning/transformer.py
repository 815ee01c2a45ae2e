"""A transformer of the sizes that a file says, and a part of it for each stage of a pipeline.

    kind     norm        positions        MLP                        attention
    llama    RMSNorm     turned (RoPE)    down(silu(gate) · up)      in tiles; several heads share keys
    gpt      LayerNorm   learned          down(gelu(up))             in tiles, or whole with dropout of its weights
    vit      as gpt, of the patches of an image, and without a mask

With `checkpoint="full"` each layer is computed again for its gradients. "selective" computes only the core of attention again, from queries
to its result (Korthikanti et al., arXiv:2205.05198). With "op" the results of every second matrix and of attention are kept, and the
rest is computed again, as torchtitan does by default.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np

import minitorch_dist as torch
from minitorch_dist import nn
from minitorch_dist.distributed.groups import ProcessGroup
from minitorch_dist.distributed.tensor.parallel.activations import enter
from minitorch_dist.distributed.tensor.placements import Shard
from minitorch_dist.nn import functional as F
from minitorch_dist.tensors.shape_arrays.array import has_numbers
from minitorch_dist.tensors.tensor import Tensor
from minitorch_dist.utils.checkpoint import checkpoint
from mtd.planning import kernels
from mtd.planning.context_attention import ContextTiles, own_part
from mtd.planning.experts import ExpertLayer, ExpertPlaces
from mtd.planning.kept_results import KeptResults, WeightMatrix, attention
from mtd.planning.model_files import COLOURS, ModelSizes
from mtd.planning.tiled_attention import AttentionTiles, tiled_attention, whole_attention

ONE_PLACE = ExpertPlaces()


def turns(length: int, size: int) -> tuple[Any, ...]:
    """Cosine and sine of the angle by which each position turns each pair of a head's numbers."""
    speeds = 1.0 / 500000.0 ** (torch.arange(0, size, 2).float() / size)
    angles = torch.outer(torch.arange(length).float(), speeds)
    return torch.cos(angles), torch.sin(angles)


class SelfAttention(nn.Module):
    """Queries, keys and values; the heads of this rank follow from the sizes of its matrices."""

    def __init__(self, model: ModelSizes) -> None:
        super().__init__()
        bias, shared = not model.is_gated, model.kv_heads * model.head
        self.size, self.dropout = model.head, model.dropout
        self.is_whole = model.attention == "whole"
        self.turned = kernels.TURNS[model.kernels]
        self.copies = model.heads // model.kv_heads if model.kernels == "single" else 1
        self.context: ProcessGroup | None = None  # over which the sequence is cut
        self.is_again = False  # whether its core is computed again for its gradients
        self.flash, self.sees_all, kind = model.flash, model.sees_all, model.products
        self.query = WeightMatrix(model.width, model.query_width, bias, kind)
        self.key = WeightMatrix(model.width, shared, bias, kind)
        self.value = WeightMatrix(model.width, shared, bias, kind)
        self.out = WeightMatrix(model.query_width, model.width, bias, kind)

    def forward(self, x: Any, turn: Any) -> Any:
        rows, length, _ = x.shape
        q, k, v = (matrix(x).reshape(rows, length, -1, self.size) for matrix in (self.query, self.key, self.value))
        if turn is not None:
            q, k = self.turned(q, *turn), self.turned(k, *turn)
        group = self.context
        if group is not None:
            k, v = (enter(each, group, Shard(1), length * group.size()) for each in (k, v))
        q, k, v = (each.transpose(1, 2) for each in (q, k, v))
        if self.copies > 1:
            k, v = kernels.repeated(k, self.copies), kernels.repeated(v, self.copies)
        if self.is_again:
            seen = checkpoint(self._core, q, k, v, use_reentrant=False, preserve_rng_state=False)
        else:
            seen = self._core(q, k, v)
        return self.out(seen.transpose(1, 2).reshape(rows, length, -1))

    def _core(self, q: Any, k: Any, v: Any) -> Any:
        if self.context is not None:
            tiles = ContextTiles(self.flash, ranks=self.context.size(), rank=self.context.rank())
            return tiled_attention(q, k, v, tiles)
        if self.is_whole:
            return whole_attention(q, k, v, self.dropout)
        return attention(q, k, v, AttentionTiles(self.flash, self.sees_all))


class FeedForward(nn.Module):
    def __init__(self, model: ModelSizes, inside: int = 0) -> None:
        super().__init__()
        bias, kind, inside = not model.is_gated, model.products, inside or model.ffn
        self.gate = WeightMatrix(model.width, inside, False, kind) if model.is_gated else None
        self.up = WeightMatrix(model.width, inside, bias, kind)
        self.down = WeightMatrix(inside, model.width, bias, kind)
        self.gated = kernels.GATES[model.kernels]

    def forward(self, x: Any) -> Any:
        if self.gate is None:
            return self.down(F.gelu(self.up(x)))
        return self.down(self.gated(self.gate(x), self.up(x)))


def norm_of(model: ModelSizes) -> Any:
    if not model.is_gated:
        return nn.LayerNorm
    return kernels.SingleRMSNorm if model.kernels == "single" else nn.RMSNorm


def mlp_of(model: ModelSizes, number: int, places: ExpertPlaces) -> nn.Module:
    """The MLP of a layer, or its experts."""
    if not model.experts or number < model.dense_layers:
        return FeedForward(model)
    inside = model.shared_experts * model.expert_ffn
    return ExpertLayer(model, FeedForward(model, inside) if inside else None, places)


class TransformerLayer(nn.Module):
    def __init__(self, model: ModelSizes, how: str, number: int = 0, places: ExpertPlaces = ONE_PLACE) -> None:
        super().__init__()
        norm = norm_of(model)
        self.how, self.dropout = how, model.dropout
        self.norm1, self.norm2 = norm(model.width), norm(model.width)
        self.attention, self.mlp = SelfAttention(model), mlp_of(model, number, places)
        self.attention.is_again = how == "selective"

    def forward(self, x: Any, turn: Any) -> Any:
        if self.how in ("none", "selective"):
            return self.computed(x, turn)
        keeper = KeptResults().run if self.how == "op" else nullcontext

        def run(x: Tensor, turn: Any) -> Tensor:
            with keeper():
                return self.computed(x, turn)

        return checkpoint(run, x, turn, use_reentrant=False, preserve_rng_state=False)

    def computed(self, x: Tensor, turn: Any) -> Tensor:
        x = kernels.added(x, self.attention(self.norm1(x), turn), self.dropout)
        return kernels.added(x, self.mlp(self.norm2(x)), self.dropout)


class WordTable(nn.Embedding):
    """An embedding that `fill` fills."""

    def reset_parameters(self) -> None:
        pass


def fill(module: nn.Module, seed: int) -> None:
    """First values that follow from `seed` alone, so that they are the same in every layout. No device computes
    them, so they take no time."""
    numbers = np.random.default_rng(seed)
    for name, p in module.named_parameters():
        if p.ndim == 2 and has_numbers(p.array):
            p.array[...] = 0.02 * numbers.standard_normal(p.shape)
        elif name.endswith("bias"):
            p.array[...] = 0


class Positions(nn.Module):
    """Words and, for the kind gpt, their positions."""

    def __init__(self, model: ModelSizes) -> None:
        super().__init__()
        self.words = WordTable(model.words, model.width)
        self.places = None if model.is_gated else WordTable(model.sequence, model.width)

    def forward(self, words: Tensor) -> Tensor:
        x = self.words(words)
        if self.places is None:
            return x
        return x + self.places(torch.arange(words.shape[1], device=words.device))


class Patches(nn.Module):
    """The patches of images (rows, colours, height, width), their positions, and one position more that is classified."""

    def __init__(self, model: ModelSizes) -> None:
        super().__init__()
        self.side = model.patch
        self.patches = WeightMatrix(COLOURS * model.patch**2, model.width, True)
        self.first = WordTable(1, model.width) if model.pooling == "class" else None
        self.places = WordTable(model.sequence, model.width)

    def forward(self, images: Any) -> Any:
        rows, side, count = images.shape[0], self.side, images.shape[-1] // self.side
        cut = images.reshape(rows, COLOURS, count, side, count, side).permute(0, 2, 4, 1, 3, 5)
        x = self.patches(cut.reshape(rows, count * count, -1).to(self.patches.weight.dtype))
        if self.first is not None:
            alike = torch.zeros(rows, 1, dtype=torch.int64, device=x.device)
            x = torch.cat([self.first(alike), x], 1)
        return x + self.places(torch.arange(x.shape[1], device=x.device))


class ClassLogits(WeightMatrix):
    """Of the first position, or of the mean of all: (rows, 1, classes)."""

    def __init__(self, model: ModelSizes) -> None:
        super().__init__(model.width, model.words, True)
        self.is_mean = model.pooling == "mean"

    def forward(self, x: Any) -> Any:
        return super().forward(x.mean(1, keepdim=True) if self.is_mean else x[:, :1])


class TransformerPart(nn.Module):
    """Some of the layers. `ends`: whether the embedding stands before them, and the logits behind them. `tied`: the logits' matrix
    is the embedding's."""

    def __init__(
        self,
        model: ModelSizes,
        layers: range,
        how: str,
        context: ProcessGroup | None = None,
        ends: tuple[bool, bool] = (True, True),
        tied: bool = False,
        places: ExpertPlaces = ONE_PLACE,
    ) -> None:
        super().__init__()
        self.context = context
        self.has_turns, self.size = model.is_gated, model.head
        self.sequence = model.sequence
        self.begin = (Patches if model.sees_all else Positions)(model) if ends[0] else None
        self.layers = nn.ModuleList([TransformerLayer(model, how, number, places) for number in layers])
        self.norm: Any = None
        self.logits: Any = None
        if ends[1]:
            self.norm = norm_of(model)(model.width)
            usual = None if tied else WeightMatrix(model.width, model.words, False)
            self.logits = ClassLogits(model) if model.sees_all else usual
        self.turn: Any = None
        for layer in self.layers:
            layer.attention.context = context
        for number, layer in zip(layers, self.layers, strict=True):
            fill(layer, 1 + number)
            if isinstance(layer.mlp, ExpertLayer) and has_numbers(layer.mlp.experts.gate.array):
                layer.mlp.experts.fill(1 + number)
        for seed, module in ((0, self.begin), (1 + model.layers, self.logits)):
            if module is not None:
                fill(module, seed)

    def forward(self, x: Any) -> Any:
        if self.begin is not None:
            x = self.begin(x)
        if self.has_turns and self.layers and self.turn is None:
            found = turns(self.sequence, self.size)
            if self.context is not None:
                rank, count = self.context.rank(), self.context.size()
                found = tuple(own_part(each, rank, count, 0) for each in found)
            self.turn = tuple(each.to(x.device).to(x.dtype).unsqueeze(1) for each in found)
        for layer in self.layers:
            x = layer(x, self.turn)
        if self.norm is None:
            return x
        if self.logits is None:
            assert self.begin is not None
            return F.linear(self.norm(x), self.begin.words.weight)
        return self.logits(self.norm(x))
