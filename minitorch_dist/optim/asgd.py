"""ASGD (Polyak & Juditsky 1992): SGD with a falling rate, which also keeps the mean of its parameters.

g ← g + weight_decay · p
p ← p − λ η p − η g
a ← a + μ (p − a)                      the mean, `state[p]["ax"]`
η ← lr / (1 + λ lr t)^α,   μ ← 1 / max(1, t − t₀)      for the next step
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minitorch_dist.optim.elementwise import (
    Elementwise,
    blocks,
    column,
    count,
    decayed,
    filled,
    require,
    scalar,
)
from minitorch_dist.optim.optimizer import Group, Params, number
from minitorch_dist.tensors.core.base import Array
from minitorch_dist.tensors.tensor import Tensor


def asgd(
    params: Sequence[Array],
    grads: Sequence[Array],
    means: Sequence[Array],
    rates: Sequence[float],
    weights: Sequence[float],
    *,
    lambd: float,
    weight_decay: float = 0,
    maximize: bool = False,
) -> None:
    """One step with the rate η and the mean's weight μ of each parameter."""
    for p, g, mean, rate, weight in blocks(params, grads, means, rates, weights):
        g = decayed(p, g, weight_decay, maximize)
        p *= 1 - lambd * rate
        p -= rate * g
        mean += weight * (p - mean)


class ASGD(Elementwise):
    def __init__(
        self,
        params: Params,
        lr: Any = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        require(number(lr) >= 0, "learning rate", lr)
        require(weight_decay >= 0, "weight_decay value", weight_decay)
        super().__init__(params, {
            "lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay,
            "foreach": foreach, "maximize": maximize, "differentiable": differentiable,
            "capturable": capturable})  # fmt: skip

    def start(self, p: Tensor, group: Group) -> dict[str, Any]:
        rate = scalar(number(group["lr"]))
        return {"step": scalar(), "eta": rate, "mu": scalar(1.0), "ax": filled(p)}

    def update(
        self, group: Group, params: list[Array], grads: list[Array], memory: list[dict[str, Any]]
    ) -> None:
        rates, weights = numbers(memory, "eta"), numbers(memory, "mu")
        asgd(params, grads, column(memory, "ax"), rates, weights, lambd=group["lambd"],
             weight_decay=group["weight_decay"], maximize=group["maximize"])  # fmt: skip
        lr = number(group["lr"])
        for state, step in zip(memory, count(memory), strict=True):
            rate = lr / (1 + group["lambd"] * lr * step) ** group["alpha"]
            state["eta"].array[...] = np.float32(rate)  # torch's precision, in a loaded state too
            state["mu"].array[...] = np.float32(1 / max(1.0, step - group["t0"]))


def numbers(memory: list[dict[str, Any]], name: str) -> list[float]:
    """One entry of every parameter's memory, as numbers."""
    return [float(state[name].array) for state in memory]
