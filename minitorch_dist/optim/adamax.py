"""Adamax (Kingma & Ba, arXiv:1412.6980, section 7): Adam with the largest gradient instead of √v.

g ← g + weight_decay · p
m ← β₁ m + (1 − β₁) g
u ← max(β₂ u, |g| + ε)
p ← p − lr / (1 − β₁ᵗ) · m / u
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


def adamax(
    params: Sequence[Array],
    grads: Sequence[Array],
    means: Sequence[Array],
    peaks: Sequence[Array],
    steps: Sequence[float],
    *,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float = 0,
    maximize: bool = False,
) -> None:
    """One step, the `steps[i]`-th of parameter i."""
    for p, g, m, u, t in blocks(params, grads, means, peaks, steps):
        g = decayed(p, g, weight_decay, maximize)
        m += (1 - beta1) * (g - m)
        u *= beta2
        np.maximum(u, np.abs(g) + eps, out=u)
        p -= lr / (1 - beta1**t) * m / u


class Adamax(Elementwise):
    def __init__(
        self,
        params: Params,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check(lr, betas, eps, weight_decay)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
            "foreach": foreach, "maximize": maximize, "differentiable": differentiable,
            "capturable": capturable})  # fmt: skip

    def start(self, p: Tensor, group: Group) -> dict[str, Any]:
        return {"step": scalar(), "exp_avg": filled(p), "exp_inf": filled(p)}

    def update(
        self, group: Group, params: list[Array], grads: list[Array], memory: list[dict[str, Any]]
    ) -> None:
        adamax(params, grads, column(memory, "exp_avg"), column(memory, "exp_inf"), count(memory),
               lr=number(group["lr"]), beta1=group["betas"][0], beta2=group["betas"][1],
               eps=group["eps"], weight_decay=group["weight_decay"],
               maximize=group["maximize"])  # fmt: skip
