"""NAdam (Dozat, ICLR 2016 workshop): Adam with Nesterov's look ahead.

g ← g + weight_decay · p                        decoupled instead: p ← p − lr · weight_decay · p
μₜ = β₁ (1 − ½ · 0.96^(t · momentum_decay))     the momentum warms up
M ← M · μₜ                                      the product of all μ so far
m ← β₁ m + (1 − β₁) g        v ← β₂ v + (1 − β₂) g²
p ← p − lr · [(1 − μₜ)/(1 − M) · g + μₜ₊₁/(1 − M μₜ₊₁) · m] / (√(v / (1 − β₂ᵗ)) + ε)
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
    require,
    scalar,
)
from minitorch_dist.optim.optimizer import Group, Params, number
from minitorch_dist.tensors.core.base import Array
from minitorch_dist.tensors.tensor import Tensor


def nadam(
    params: Sequence[Array],
    grads: Sequence[Array],
    means: Sequence[Array],
    squares: Sequence[Array],
    products: Sequence[Array],
    steps: Sequence[float],
    *,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    momentum_decay: float,
    weight_decay: float = 0,
    decoupled: bool = False,
    maximize: bool = False,
) -> None:
    """One step, the `steps[i]`-th of parameter i. `products` are 0-dim and updated as well."""
    weights = []  # of the gradient, and of its mean
    for product, t in zip(products, steps, strict=True):
        mu, following = (beta1 * (1 - 0.5 * 0.96 ** (n * momentum_decay)) for n in (t, t + 1))
        product *= mu
        so_far = float(product)
        weights.append(((1 - mu) / (1 - so_far), following / (1 - so_far * following)))
    for p, g, m, v, (now, past), t in blocks(params, grads, means, squares, weights, steps):
        g = decayed(p, g, weight_decay, maximize, lr if decoupled else None)
        m += (1 - beta1) * (g - m)
        v *= beta2
        v += (1 - beta2) * g * g
        root = np.sqrt(v / (1 - beta2**t))
        root += eps
        p -= lr * now * g / root
        p -= lr * past * m / root


class NAdam(Elementwise):
    def __init__(
        self,
        params: Params,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check(lr, betas, eps, weight_decay)
        require(momentum_decay >= 0, "momentum_decay value", momentum_decay)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
            "momentum_decay": momentum_decay, "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize, "foreach": foreach, "capturable": capturable,
            "differentiable": differentiable})  # fmt: skip

    def start(self, p: Tensor, group: Group) -> dict[str, Any]:
        return {"step": scalar(), "mu_product": scalar(1.0),
                "exp_avg": filled(p), "exp_avg_sq": filled(p)}  # fmt: skip

    def update(
        self, group: Group, params: list[Array], grads: list[Array], memory: list[dict[str, Any]]
    ) -> None:
        nadam(params, grads, column(memory, "exp_avg"), column(memory, "exp_avg_sq"),
              column(memory, "mu_product"), count(memory), lr=number(group["lr"]),
              beta1=group["betas"][0], beta2=group["betas"][1], eps=group["eps"],
              momentum_decay=group["momentum_decay"], weight_decay=group["weight_decay"],
              decoupled=group["decoupled_weight_decay"], maximize=group["maximize"])  # fmt: skip
