"""RAdam (Liu et al., arXiv:1908.03265): Adam that trusts √v only once it has seen enough.

g ← g + weight_decay · p                        decoupled instead: p ← p − lr · weight_decay · p
m ← β₁ m + (1 − β₁) g        v ← β₂ v + (1 − β₂) g²        m̂ = m / (1 − β₁ᵗ)
ρ∞ = 2/(1 − β₂) − 1          ρ = ρ∞ − 2 t β₂ᵗ / (1 − β₂ᵗ)  the number of gradients v speaks for
ρ ≤ 5:  p ← p − lr · m̂
ρ > 5:  p ← p − lr · r · m̂ · √(1 − β₂ᵗ) / (√v + ε)
        r = √[(ρ − 4)(ρ − 2) ρ∞ / ((ρ∞ − 4)(ρ∞ − 2) ρ)]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minitorch_dist.optim.adam import check
from minitorch_dist.optim.elementwise import (
    Elementwise,
    blocks,
    column,
    count,
    decayed,
    filled,
    scalar,
)
from minitorch_dist.optim.optimizer import Group, Params, number
from minitorch_dist.tensors.core.base import Array
from minitorch_dist.tensors.tensor import Tensor


def radam(
    params: Sequence[Array],
    grads: Sequence[Array],
    means: Sequence[Array],
    squares: Sequence[Array],
    steps: Sequence[float],
    *,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float = 0,
    decoupled: bool = False,
    maximize: bool = False,
) -> None:
    """One step, the `steps[i]`-th of parameter i."""
    limit = 2 / (1 - beta2) - 1
    for p, g, m, v, t in blocks(params, grads, means, squares, steps):
        g = decayed(p, g, weight_decay, maximize, lr if decoupled else None)
        m += (1 - beta1) * (g - m)
        v *= beta2
        v += (1 - beta2) * g * g
        seen = limit - 2 * t * beta2**t / (1 - beta2**t)
        rate = lr / (1 - beta1**t)
        if seen > 5:
            trust = (seen - 4) * (seen - 2) * limit / ((limit - 4) * (limit - 2) * seen)
            root = np.sqrt(v)
            root += eps
            p -= rate * (trust * (1 - beta2**t)) ** 0.5 * m / root
        else:
            p -= rate * m


class RAdam(Elementwise):
    def __init__(
        self,
        params: Params,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check(lr, betas, eps, weight_decay)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
            "maximize": maximize, "foreach": foreach, "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay, "differentiable": differentiable})  # fmt: skip

    def start(self, p: Tensor, group: Group) -> dict[str, Any]:
        return {"step": scalar(), "exp_avg": filled(p), "exp_avg_sq": filled(p)}

    def update(
        self, group: Group, params: list[Array], grads: list[Array], memory: list[dict[str, Any]]
    ) -> None:
        radam(params, grads, column(memory, "exp_avg"), column(memory, "exp_avg_sq"),
              count(memory), lr=number(group["lr"]), beta1=group["betas"][0],
              beta2=group["betas"][1], eps=group["eps"], weight_decay=group["weight_decay"],
              decoupled=group["decoupled_weight_decay"], maximize=group["maximize"])  # fmt: skip
