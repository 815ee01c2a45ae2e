"""Adam (Kingma & Ba, arXiv:1412.6980) and AdamW (Loshchilov & Hutter, arXiv:1711.05101).

    g ← g + weight_decay · p                        AdamW instead: p ← p − lr · weight_decay · p
    m ← β₁ m + (1 − β₁) g                           the running mean of the gradient
    v ← β₂ v + (1 − β₂) g²                          and of its square
    m̂ = m / (1 − β₁ᵗ)    v̂ = v / (1 − β₂ᵗ)          both began at zero: undo that bias
    p ← p − lr · m̂ / (√v̂ + ε)

AMSGrad (Reddi, Kale & Kumar, ICLR 2018) divides by the largest v̂ so far instead of the present one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minitorch_dist.optim.elementwise import Elementwise, blocks, column, count, decayed, filled, require, scalar
from minitorch_dist.optim.optimizer import Group, Params, number
from minitorch_dist.tensors.core.base import Array
from minitorch_dist.tensors.tensor import Tensor


def adam(
    params: Sequence[Array],
    grads: Sequence[Array],
    means: Sequence[Array],
    squares: Sequence[Array],
    peaks: Sequence[Array | None],
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
    """One step, the `steps[i]`-th of parameter i. A peak of None means: no AMSGrad."""
    for p, g, m, v, peak, t in blocks(params, grads, means, squares, peaks, steps):
        g = decayed(p, g, weight_decay, maximize, lr if decoupled else None)
        m += (1 - beta1) * (g - m)
        v *= beta2
        v += (1 - beta2) * g * g
        if peak is not None:
            v = np.maximum(peak, v, out=peak)
        root = np.sqrt(v)
        root /= (1 - beta2**t) ** 0.5
        root += eps
        p -= lr / (1 - beta1**t) * m / root


def check(lr: Any, betas: tuple[float, float], eps: float, weight_decay: float) -> None:
    """Check the options of Adam and its kin."""
    require(number(lr) >= 0, "learning rate", lr)
    require(eps >= 0, "epsilon value", eps)
    require(0 <= betas[0] < 1, "beta parameter at index 0", betas[0])
    require(0 <= betas[1] < 1, "beta parameter at index 1", betas[1])
    require(weight_decay >= 0, "weight_decay value", weight_decay)


class Adam(Elementwise):
    """Steps by running means of gradients and of their squares (arXiv:1412.6980).

    Args:
        params: Parameters, pairs of names and parameters, or dictionaries of groups with options of their own.
        lr: The learning rate.
        betas: How much of the two means goes on.
        eps: Added to the root.
        weight_decay: The factor of the parameter that is added to its gradient.
        amsgrad: Divide by the largest mean so far.
        foreach: Accepted as in torch; it changes nothing.
        maximize: Go up instead of down.
        capturable: Accepted as in torch; it changes nothing.
        differentiable: Must be False.
        fused: Accepted as in torch; it changes nothing.
        decoupled_weight_decay: Decay as AdamW does.

    Example:
        >>> x = torch.tensor([1.0], requires_grad=True)
        >>> optimizer = optim.Adam([x], lr=0.25)
        >>> (3 * x).sum().backward()
        >>> optimizer.step()
        >>> round(x.item(), 4)
        0.75
    """

    def __init__(
        self,
        params: Params,
        lr: Any = 1e-3,
        betas: tuple[Any, Any] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        betas = (number(betas[0]), number(betas[1]))
        check(lr, betas, eps, weight_decay)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
            "amsgrad": amsgrad, "maximize": maximize, "foreach": foreach,
            "capturable": capturable, "differentiable": differentiable, "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay})  # fmt: skip

    def start(self, p: Tensor, group: Group) -> dict[str, Any]:
        memory = {"step": scalar(), "exp_avg": filled(p), "exp_avg_sq": filled(p)}
        if group["amsgrad"]:
            memory["max_exp_avg_sq"] = filled(p)
        return memory

    def update(self, group: Group, params: list[Array], grads: list[Array], memory: list[dict[str, Any]]) -> None:
        peaks = column(memory, "max_exp_avg_sq") if group["amsgrad"] else [None] * len(params)
        adam(params, grads, column(memory, "exp_avg"), column(memory, "exp_avg_sq"), peaks,
             count(memory), lr=number(group["lr"]), beta1=number(group["betas"][0]),
             beta2=number(group["betas"][1]), eps=group["eps"],
             weight_decay=group["weight_decay"], decoupled=group["decoupled_weight_decay"],
             maximize=group["maximize"])  # fmt: skip


class AdamW(Adam):
    """Adam with decoupled weight decay: the decay does not pass through the running means.

    Args:
        params: Parameters, pairs of names and parameters, or dictionaries of groups with options of their own.
        lr: The learning rate.
        betas: How much of the two means goes on.
        eps: Added to the root.
        weight_decay: Each step takes `lr * weight_decay` of the parameter.
        amsgrad: Divide by the largest mean so far.
        maximize: Go up instead of down.
        foreach: Accepted as in torch; it changes nothing.
        capturable: Accepted as in torch; it changes nothing.
        differentiable: Must be False.
        fused: Accepted as in torch; it changes nothing.

    Example:
        >>> x = torch.tensor([1.0], requires_grad=True)
        >>> optimizer = optim.AdamW([x], lr=0.25, weight_decay=0.0)
        >>> (3 * x).sum().backward()
        >>> optimizer.step()
        >>> round(x.item(), 4)
        0.75
    """

    def __init__(
        self,
        params: Params,
        lr: Any = 1e-3,
        betas: tuple[Any, Any] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize,
                         foreach=foreach, capturable=capturable, differentiable=differentiable,
                         fused=fused, decoupled_weight_decay=True)  # fmt: skip
