"""Adadelta (Zeiler, arXiv:1212.5701): the step has the units of the parameter.

g ← g + weight_decay · p
s ← ρ s + (1 − ρ) g²                            running mean of the squared gradient
d = √(u + ε) / √(s + ε) · g
u ← ρ u + (1 − ρ) d²                            running mean of the squared steps
p ← p − lr · d
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minitorch_dist.optim.elementwise import Elementwise, blocks, column, count, decayed, filled, require, scalar
from minitorch_dist.optim.optimizer import Group, Params, number
from minitorch_dist.tensors.core.base import Array
from minitorch_dist.tensors.tensor import Tensor


def adadelta(
    params: Sequence[Array],
    grads: Sequence[Array],
    squares: Sequence[Array],
    moves: Sequence[Array],
    *,
    lr: float,
    rho: float,
    eps: float,
    weight_decay: float = 0,
    maximize: bool = False,
) -> None:
    for p, g, s, u in blocks(params, grads, squares, moves):
        g = decayed(p, g, weight_decay, maximize)
        s *= rho
        s += (1 - rho) * g * g
        d = np.sqrt(u + eps) / np.sqrt(s + eps) * g
        u *= rho
        u += (1 - rho) * d * d
        p -= lr * d


class Adadelta(Elementwise):
    def __init__(
        self,
        params: Params,
        lr: Any = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        require(number(lr) >= 0, "learning rate", lr)
        require(0 <= rho <= 1, "rho value", rho)
        require(eps >= 0, "epsilon value", eps)
        require(weight_decay >= 0, "weight_decay value", weight_decay)
        super().__init__(params, {
            "lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay,
            "maximize": maximize, "capturable": capturable, "foreach": foreach,
            "differentiable": differentiable})  # fmt: skip

    def start(self, p: Tensor, group: Group) -> dict[str, Any]:
        return {"step": scalar(), "square_avg": filled(p), "acc_delta": filled(p)}

    def update(self, group: Group, params: list[Array], grads: list[Array], memory: list[dict[str, Any]]) -> None:
        count(memory)
        adadelta(
            params,
            grads,
            column(memory, "square_avg"),
            column(memory, "acc_delta"),
            lr=number(group["lr"]),
            rho=group["rho"],
            eps=group["eps"],
            weight_decay=group["weight_decay"],
            maximize=group["maximize"],
        )
