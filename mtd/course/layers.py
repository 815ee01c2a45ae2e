"""A layer that takes its time: what a simulated step of training is made of.

    model = nn.Sequential(*[Layer(64, forward="1ms", backward="2ms") for _ in range(4)])
    model(ones(1, 64)).sum().backward()        12 ms of virtual time, and whatever is sent meanwhile

The time of a layer's backward passes before its gradient is there, as it does where it is computed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitorch_dist import nn, sim
from minitorch_dist.autograd import Function
from minitorch_dist.tensors.dtypes import float64
from minitorch_dist.tensors.makers.creation import ones
from minitorch_dist.tensors.tensor import Tensor


class SlowIdentity(Function):
    """The identity; its backward takes a while. `look` is called before that."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, duration: str, look: Callable[[], None] | None = None) -> Tensor:
        ctx.duration, ctx.look = duration, look
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        if ctx.look is not None:
            ctx.look()
        sim.compute(ctx.duration)
        return grad, None, None


class SquareLayer(nn.Module):
    """A square matrix of `side` times `side` float64."""

    def __init__(self, side: int, forward: str = "0s", backward: str = "0s") -> None:
        super().__init__()
        self.weight = nn.Parameter(ones(side, side, dtype=float64) / side)
        self.durations = forward, backward

    def forward(self, x: Any) -> Any:
        sim.compute(self.durations[0])
        return SlowIdentity.apply(x @ self.weight, self.durations[1])
