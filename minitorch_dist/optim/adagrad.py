"""Adagrad (Duchi, Hazan & Singer, JMLR 12, 2011): coordinates that moved much move less.

g ← g + weight_decay · p
s ← s + g²                                      the sum of all squared gradients
p ← p − lr / (1 + (t − 1) lr_decay) · g / (√s + ε)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minitorch_dist.optim.elementwise import Elementwise, blocks, column, count, decayed, filled, require, scalar
from minitorch_dist.optim.optimizer import Group, Params, number
from minitorch_dist.tensors import ledger
from minitorch_dist.tensors.core.base import Array
from minitorch_dist.tensors.tensor import Tensor


def adagrad(
    params: Sequence[Array],
    grads: Sequence[Array],
    sums: Sequence[Array],
    steps: Sequence[float],
    *,
    lr: float,
    lr_decay: float,
    eps: float,
    weight_decay: float = 0,
    maximize: bool = False,
) -> None:
    """One step, the `steps[i]`-th of parameter i."""
    for p, g, s, t in blocks(params, grads, sums, steps):
        g = decayed(p, g, weight_decay, maximize)
        s += g * g
        root = np.sqrt(s)
        root += eps
        p -= lr / (1 + (t - 1) * lr_decay) * g / root


class Adagrad(Elementwise):
    """Its memory is made when it is constructed, so that it can be shared before the first step."""

    def __init__(
        self,
        params: Params,
        lr: Any = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        require(number(lr) >= 0, "learning rate", lr)
        require(lr_decay >= 0, "lr_decay value", lr_decay)
        require(weight_decay >= 0, "weight_decay value", weight_decay)
        require(initial_accumulator_value >= 0, "initial_accumulator_value value", initial_accumulator_value)
        require(eps >= 0, "epsilon value", eps)
        super().__init__(params, {
            "lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "fused": fused})  # fmt: skip
        with ledger.category("optimizer"):
            for group in self.param_groups:
                for p in group["params"]:
                    self.state[p] = self.start(p, group)

    def start(self, p: Tensor, group: Group) -> dict[str, Any]:
        return {"step": scalar(), "sum": filled(p, group["initial_accumulator_value"])}

    def update(self, group: Group, params: list[Array], grads: list[Array], memory: list[dict[str, Any]]) -> None:
        adagrad(
            params,
            grads,
            column(memory, "sum"),
            count(memory),
            lr=number(group["lr"]),
            lr_decay=group["lr_decay"],
            eps=group["eps"],
            weight_decay=group["weight_decay"],
            maximize=group["maximize"],
        )
