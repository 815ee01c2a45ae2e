"""Rprop (Riedmiller & Braun 1993): a step of its own for each element, from the gradient's sign alone.

s ← s · η₊ where g and the last g agree in sign, s · η₋ where they do not, within the least and largest step
g ← 0 where they do not agree
p ← p − sign(g) · s
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
    filled,
    require,
    scalar,
)
from minitorch_dist.optim.optimizer import Group, Params, number
from minitorch_dist.tensors.core.base import Array
from minitorch_dist.tensors.tensor import Tensor


def rprop(
    params: Sequence[Array],
    grads: Sequence[Array],
    last: Sequence[Array],
    sizes: Sequence[Array],
    *,
    shrink: float,
    grow: float,
    least: float,
    largest: float,
    maximize: bool = False,
) -> None:
    """One step. `last` are the gradients of the step before, `sizes` the steps of the elements."""
    for p, g, before, s in blocks(params, grads, last, sizes):
        if maximize:
            g = -g
        agreement = g * before
        s[agreement > 0] *= grow
        s[agreement < 0] *= shrink
        np.clip(s, least, largest, out=s)
        g = np.where(agreement < 0, 0, g)
        p -= np.sign(g) * s
        before[...] = g


class Rprop(Elementwise):
    def __init__(
        self,
        params: Params,
        lr: Any = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        require(number(lr) >= 0, "learning rate", lr)
        require(0 < etas[0] < 1 < etas[1], "eta values", f"{etas[0]}, {etas[1]}")
        super().__init__(params, {
            "lr": lr, "etas": etas, "step_sizes": step_sizes, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable,
            "capturable": capturable})  # fmt: skip

    def start(self, p: Tensor, group: Group) -> dict[str, Any]:
        return {"step": scalar(), "prev": filled(p), "step_size": filled(p, number(group["lr"]))}

    def update(
        self, group: Group, params: list[Array], grads: list[Array], memory: list[dict[str, Any]]
    ) -> None:
        count(memory)
        (shrink, grow), (least, largest) = group["etas"], group["step_sizes"]
        rprop(params, grads, column(memory, "prev"), column(memory, "step_size"), shrink=shrink,
              grow=grow, least=least, largest=largest, maximize=group["maximize"])  # fmt: skip
