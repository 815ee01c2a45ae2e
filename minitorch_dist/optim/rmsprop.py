"""RMSprop (Hinton, lecture 6e of "Neural networks for machine learning", 2012).

g ← g + weight_decay · p
s ← α s + (1 − α) g²                            the running mean of the squared gradient
r = √s + ε                                      centered: r = √(s − a²) + ε, a the mean of g
p ← p − lr · g / r                              with momentum: b ← momentum · b + g / r
                                                               p ← p − lr · b
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minitorch_dist.optim.elementwise import Elementwise, blocks, column, count, decayed, filled, require, scalar
from minitorch_dist.optim.optimizer import Group, Params, number
from minitorch_dist.tensors.core.base import Array
from minitorch_dist.tensors.tensor import Tensor


def rmsprop(
    params: Sequence[Array],
    grads: Sequence[Array],
    squares: Sequence[Array],
    means: Sequence[Array | None],
    velocities: Sequence[Array | None],
    *,
    lr: float,
    alpha: float,
    eps: float,
    weight_decay: float = 0,
    momentum: float = 0,
    maximize: bool = False,
) -> None:
    """One step. A mean of None means: not centered; a velocity of None: no momentum."""
    for p, g, s, a, b in blocks(params, grads, squares, means, velocities):
        g = decayed(p, g, weight_decay, maximize)
        s *= alpha
        s += (1 - alpha) * g * g
        if a is None:
            root = np.sqrt(s)
        else:
            a += (1 - alpha) * (g - a)
            root = np.sqrt(s - a * a)
        root += eps
        if b is None:
            p -= lr * g / root
        else:
            b *= momentum
            b += g / root
            p -= lr * b


class RMSprop(Elementwise):
    def __init__(
        self,
        params: Params,
        lr: Any = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        require(number(lr) >= 0, "learning rate", lr)
        require(eps >= 0, "epsilon value", eps)
        require(momentum >= 0, "momentum value", momentum)
        require(weight_decay >= 0, "weight_decay value", weight_decay)
        require(alpha >= 0, "alpha value", alpha)
        super().__init__(params, {
            "lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered,
            "weight_decay": weight_decay, "capturable": capturable, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable})  # fmt: skip

    def start(self, p: Tensor, group: Group) -> dict[str, Any]:
        memory = {"step": scalar(), "square_avg": filled(p)}
        if group["momentum"] > 0:
            memory["momentum_buffer"] = filled(p)
        if group["centered"]:
            memory["grad_avg"] = filled(p)
        return memory

    def update(self, group: Group, params: list[Array], grads: list[Array], memory: list[dict[str, Any]]) -> None:
        none = [None] * len(params)
        count(memory)
        rmsprop(
            params,
            grads,
            column(memory, "square_avg"),
            column(memory, "grad_avg") if group["centered"] else none,
            column(memory, "momentum_buffer") if group["momentum"] > 0 else none,
            lr=number(group["lr"]),
            alpha=group["alpha"],
            eps=group["eps"],
            weight_decay=group["weight_decay"],
            momentum=group["momentum"],
            maximize=group["maximize"],
        )
