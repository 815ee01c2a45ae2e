"""The smallest network of the course: two linear layers, 165 numbers."""

from __future__ import annotations

from minitorch_dist.nn.modules.activation import ReLU
from minitorch_dist.nn.modules.linear import Linear
from minitorch_dist.nn.modules.module import Module
from minitorch_dist.tensors.tensor import Tensor


class ToyModel(Module):
    """10 → 10 → 5, with a rectifier in between."""

    def __init__(self) -> None:
        super().__init__()
        self.net1 = Linear(10, 10)
        self.relu = ReLU()
        self.net2 = Linear(10, 5)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.net2(self.relu(self.net1(x)))
        return out
