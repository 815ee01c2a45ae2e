"""Stochastic gradient descent, with momentum as Sutskever et al. (ICML 2013) describe it.

g ← g + weight_decay · p
v ← momentum · v + (1 − dampening) · g          the first time: v ← g
p ← p − lr · v                                  Nesterov: p ← p − lr · (g + momentum · v)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minitorch_dist.optim.elementwise import Elementwise, blocks, column, decayed, filled, require
from minitorch_dist.optim.optimizer import Group, Params, number
from minitorch_dist.tensors.core.base import Array
from minitorch_dist.tensors.tensor import Tensor


def sgd(
    params: Sequence[Array],
    grads: Sequence[Array],
    velocities: Sequence[Array | None],
    *,
    lr: float,
    momentum: float = 0,
    dampening: float = 0,
    weight_decay: float = 0,
    nesterov: bool = False,
    maximize: bool = False,
) -> None:
    """One step. A velocity of None means: no momentum."""
    for p, g, v in blocks(params, grads, velocities):
        g = decayed(p, g, weight_decay, maximize)
        if v is not None:
            v *= momentum
            v += (1 - dampening) * g
            g = g + momentum * v if nesterov else v
        p -= lr * g


class SGD(Elementwise):
    """Stochastic gradient descent, with momentum if you like.

    Args:
        params: Parameters, pairs of names and parameters, or dictionaries of groups with options of their own.
        lr: The learning rate.
        momentum: The share of the last step that goes on.
        dampening: Takes from the gradient where there is momentum.
        weight_decay: The factor of the parameter that is added to its gradient.
        nesterov: Look ahead by the momentum.
        maximize: Go up instead of down.
        foreach: Accepted as in torch; it changes nothing.
        differentiable: Must be False.
        fused: Accepted as in torch; it changes nothing.

    Example:
        >>> x = torch.tensor([1.0], requires_grad=True)
        >>> optimizer = optim.SGD([x], lr=0.5)
        >>> (x * x).sum().backward()
        >>> optimizer.step()
        >>> x.item()
        0.0
    """

    def __init__(
        self,
        params: Params,
        lr: Any = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        require(number(lr) >= 0, "learning rate", lr)
        require(momentum >= 0, "momentum value", momentum)
        require(number(weight_decay) >= 0, "weight_decay value", weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, {
            "lr": lr, "momentum": momentum, "dampening": dampening,
            "weight_decay": weight_decay, "nesterov": nesterov, "maximize": maximize,
            "foreach": foreach, "differentiable": differentiable, "fused": fused})  # fmt: skip

    def start(self, p: Tensor, group: Group) -> dict[str, Any]:
        momentum, dampening = group["momentum"], group["dampening"]
        if not momentum:
            return {}
        velocity = filled(p)
        if dampening:  # chosen so that the first momentum · v + (1 - dampening) · g is just g
            share = dampening / momentum * (-1 if group["maximize"] else 1)
            velocity.array += share * p._grad.array
            velocity.array += dampening / momentum * number(group["weight_decay"]) * p.array
        return {"momentum_buffer": velocity}

    def update(self, group: Group, params: list[Array], grads: list[Array], memory: list[dict[str, Any]]) -> None:
        momentum = group["momentum"]
        velocities = column(memory, "momentum_buffer") if momentum else [None] * len(params)
        sgd(
            params,
            grads,
            velocities,
            lr=number(group["lr"]),
            momentum=momentum,
            dampening=group["dampening"],
            weight_decay=number(group["weight_decay"]),
            nesterov=group["nesterov"],
            maximize=group["maximize"],
        )
