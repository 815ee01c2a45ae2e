"""Matrices with a bias: the layers that mix all features."""

from __future__ import annotations

import math
from typing import Any

from minitorch_dist.nn import functional as F, init
from minitorch_dist.nn.modules.module import Module
from minitorch_dist.nn.parameter import Parameter
from minitorch_dist.tensors.makers import creation
from minitorch_dist.tensors.tensor import Tensor


class Identity(Module):
    """Returns its input. It takes any arguments, so that it can stand for any layer."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


class Linear(Module):
    """x @ weight.T + bias, for inputs (*, in_features).

    Args:
        in_features: The size of the last dimension of the input.
        out_features: That of the output.
        bias: Add a bias.
        device: The simulated device of its parameters.
        dtype: The type of its parameters.

    Example:
        >>> nn.Linear(3, 2)(torch.ones(5, 3)).shape
        torch.Size([5, 2])
    """

    weight: Tensor
    bias: Tensor | None

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(creation.empty(out_features, in_features, device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(creation.empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weights and biases uniform in ±1/√in_features."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features else 0.0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"
