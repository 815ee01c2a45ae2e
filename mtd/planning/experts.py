"""A mixture of experts: each word goes to a few of many MLPs, which may lie on other ranks.

    router ─► the top k experts of each word ─► slots of experts, as many for each ─► all_to_all ─► MLPs of this rank
                                                                   the words' sum ◄─ all_to_all ◄─┘

An expert has capacity · k · words / experts slots (Lepikhin et al., GShard, arXiv:2006.16668). Words that find none are dropped, and slots may stay
empty, so that all ranks do the same. Shared experts see every word (DeepSeekMoE, arXiv:2401.06066). With tensor parallelism each rank has a part of every
expert's inside, as in a dense layer.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

import minitorch_dist as torch
from minitorch_dist import nn
from minitorch_dist.autograd.function import Function, once_differentiable
from minitorch_dist.distributed.groups import ProcessGroup
from minitorch_dist.distributed.tensor.parallel.activations import convert
from minitorch_dist.distributed.tensor.placements import Partial, Placement
from minitorch_dist.distributed.torch_api import tensor_collectives
from minitorch_dist.nn import functional as F
from minitorch_dist.tensors.shape_arrays.array import has_numbers
from minitorch_dist.tensors.tensor import Tensor
from mtd.planning import kernels
from mtd.planning.kept_results import WeightMatrix, products_in
from mtd.planning.model_files import ModelSizes


class ExpertPlaces(NamedTuple):
    """Where experts lie: the ranks that share them, and those over which their insides are cut."""

    group: ProcessGroup | None = None
    cut: ProcessGroup | None = None

    @property
    def ranks(self) -> int:
        return 1 if self.group is None else self.group.size()

    @property
    def tensor(self) -> int:
        return 1 if self.cut is None else self.cut.size()


class TokenExchange(Function):
    """As many rows to each rank of the group, and their gradients back."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, group: ProcessGroup) -> Tensor:
        ctx.group = group
        return TokenExchange.moved(x, group)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> Any:
        return TokenExchange.moved(grad, ctx.group), None

    @staticmethod
    def moved(x: Tensor, group: ProcessGroup) -> Tensor:
        out = torch.empty_like(x)
        tensor_collectives.all_to_all_single(out, x.contiguous(), group=group)
        return out


class ExpertMatrices(nn.Module):
    """The MLPs of this rank, each matrix for all of them."""

    def __init__(self, model: ModelSizes, places: ExpertPlaces) -> None:
        super().__init__()
        self.places = places
        self.count, inside = model.experts // places.ranks, model.expert_ffn // places.tensor
        self.width, self.inside, self.kind = model.width, inside, model.products
        self.gate, self.up, self.down = (
            nn.Parameter(torch.empty(self.count * rows, columns))
            for rows, columns in ((model.width, inside), (model.width, inside), (inside, model.width))
        )
        self.gated = kernels.GATES[model.kernels]

    def fill(self, seed: int) -> None:
        """First values that follow from the seed and an expert's number, wherever it lies."""
        group, cut, inside = self.places.group, self.places.cut, self.inside * self.places.tensor
        first = 0 if group is None else self.count * group.rank()
        start = 0 if cut is None else self.inside * cut.rank()
        part = slice(start, start + self.inside)
        for number, matrix in enumerate((self.gate, self.up, self.down)):
            for own, rows in enumerate(np.split(matrix.array, self.count)):
                draw = np.random.default_rng((seed, first + own, number))
                whole = 0.02 * draw.standard_normal((inside, self.width))
                rows[...] = whole[part] if matrix is self.down else whole[part].T

    def forward(self, x: Tensor) -> Tensor:
        """`x`: (experts, slots, width)."""
        inside = self.gated(self._times(x, self.gate), self._times(x, self.up))
        return self._times(inside, self.down)

    def _times(self, x: Tensor, matrix: Tensor) -> Tensor:
        with products_in(self.kind, x, matrix):
            return x @ matrix.reshape(self.count, x.shape[-1], -1)


class ExpertLayer(nn.Module):
    """In the place of a layer's MLP."""

    def __init__(self, model: ModelSizes, shared: nn.Module | None, places: ExpertPlaces) -> None:
        super().__init__()
        self.model, self.places, self.shared = model, places, shared
        self.router = WeightMatrix(model.width, model.experts, False)
        self.experts = ExpertMatrices(model, places)
        self.cut_over: tuple[ProcessGroup, Placement] | None = None  # and how the sum lies between layers

    def forward(self, x: Any) -> Any:
        rows = x.flatten(0, 1)
        shares, chosen = routed(self.router(rows), self.model.top_k)
        slots, places = slots_of(chosen, self.model.experts, slots_of_expert(self.model, rows.shape[0]))
        seen = self._seen(rows[slots])
        found = (seen[places] * shares.to(seen.dtype).unsqueeze(-1)).sum(1).reshape(x.shape)
        if self.shared is not None:
            found = found + self.shared(x)
        if self.cut_over is not None:
            group, between = self.cut_over
            found = convert(found, Partial(), between, group)
        return found

    def _seen(self, x: Any) -> Any:
        """The words in all slots, as the experts change them."""
        group, ranks, width = self.places.group, self.places.ranks, x.shape[-1]
        own = self.model.experts // ranks
        if group is not None:
            x = TokenExchange.apply(x, group).reshape(ranks, own, -1, width).transpose(0, 1)
        y = self.experts(x.reshape(own, -1, width))
        if group is not None:
            y = y.reshape(own, ranks, -1, width).transpose(0, 1).reshape(-1, width)
            return TokenExchange.apply(y, group)
        return y.reshape(-1, width)


def slots_of_expert(model: ModelSizes, words: int) -> int:
    return max(1, math.ceil(model.capacity * model.top_k * words / model.experts))


def routed(scores: Tensor, top_k: int) -> tuple[Any, Any]:
    """The shares of the chosen experts, which add up to 1, and which they are: (words, k)."""
    likely = F.softmax(scores.float(), -1)
    best = likely[:, :top_k]
    chosen = torch.zeros(scores.shape[0], top_k, dtype=torch.int64, device=scores.device)
    if has_numbers(scores.array):
        chosen.array[...] = np.argsort(-likely.array, -1, kind="stable")[:, :top_k]
        best = likely.gather(-1, chosen)
    return best / best.sum(-1, keepdim=True), chosen


def slots_of(chosen: Tensor, experts: int, each: int) -> tuple[Any, Any]:
    """Of each slot the word in it, and of each word its slots. Those that find none look into slot 0 of their expert, and those that stay empty at word 0."""
    slots = torch.zeros(experts * each, dtype=torch.int64, device=chosen.device)
    places = torch.zeros(*chosen.shape, dtype=torch.int64, device=chosen.device)
    if has_numbers(chosen.array):
        for expert in range(experts):
            words, ways = np.nonzero(chosen.array == expert)
            number = np.arange(len(words))
            places.array[words, ways] = expert * each + np.where(number < each, number, 0)
            slots.array[expert * each : expert * each + min(each, len(words))] = words[:each]
    return slots, places
