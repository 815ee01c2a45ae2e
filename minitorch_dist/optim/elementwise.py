"""What concrete steps stand on: an optimizer whose rule treats every element by itself.

A subclass of `Elementwise` says what it remembers about a parameter (`start`) and how one step changes
the arrays of a group (`update`); which of them have a gradient, whose memory begins now and that their
values were written is found here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch_dist.optim.optimizer import Closure, Group, Optimizer
from minitorch_dist.tensors import base, devices, grad_mode, ledger
from minitorch_dist.tensors.base import Array
from minitorch_dist.tensors.tensor import Tensor


class Elementwise(Optimizer):
    """An optimizer whose rule treats every element by itself.

    Its subclasses say what the memory of a parameter is before its first step (`start`), and how
    one step changes the arrays of a group (`update`).
    """

    def start(self, p: Tensor, group: Group) -> dict[str, Any]:
        return {}

    def _begin(self, p: Tensor, group: Group) -> dict[str, Any]:
        """`start`, entered in the ledger of a simulated device as the optimizer's."""
        if p.storage.device is devices.CPU:
            return self.start(p, group)
        with ledger.category("optimizer"):
            return self.start(p, group)

    def update(
        self, group: Group, params: list[Array], grads: list[Array], memory: list[dict[str, Any]]
    ) -> None:
        raise NotImplementedError

    def step(self, closure: Closure | None = None) -> Any:
        """Update the parameters from their gradients; returns what `closure` returns."""
        loss = evaluate(closure)
        for group in self.param_groups:
            params, grads, memory = [], [], []
            for p in group["params"]:
                grad = p._grad
                if grad is None:
                    continue
                state = self.state.get(p)
                if not state:
                    state = self._begin(p, group)
                    if state:
                        self.state[p] = state
                p.storage.version += 1
                params.append(p.array)
                grads.append(grad.array)
                memory.append(state)
            self.update(group, params, grads, memory)
        return loss


def evaluate(closure: Closure | None) -> Any:
    """The loss, computed anew with recording on; None without a closure."""
    if closure is None:
        return None
    with grad_mode.enable_grad():
        return closure()


def require(holds: bool, what: str, value: Any) -> None:
    if not holds:
        raise ValueError(f"Invalid {what}: {value}")


def filled(like: Tensor, value: float = 0.0) -> Tensor:
    """State for a parameter: its shape, type, memory order and device, all of it `value`."""
    if like.storage.device is devices.CPU:
        made: Tensor = like.companion(np.full_like(like.array, value))
        return made
    with ledger.category("optimizer"):
        made = like.companion(np.full_like(like.array, value))
        return made


def scalar(value: float = 0.0) -> Tensor:
    """A count or a running product of a parameter: a 0-dim float32 tensor, as torch stores it."""
    return base.new(Tensor, np.full((), value, np.float32), devices.CPU)


def column(memory: list[dict[str, Any]], name: str) -> list[Array]:
    """One entry of every parameter's memory, as arrays."""
    return [m[name].array for m in memory]


def count(memory: list[dict[str, Any]]) -> list[float]:
    """Count this step for every parameter; which one it is."""
    numbers = []
    for m in memory:
        step = m["step"].array
        step += 1
        numbers.append(float(step))
    return numbers
