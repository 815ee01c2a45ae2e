"""Normalisation within one sample: over its last dimensions, or over groups of channels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minitorch_dist.nn import functional as F, init
from minitorch_dist.nn.modules.module import Module
from minitorch_dist.nn.parameter import Parameter
from minitorch_dist.tensors.ops.making import creation
from minitorch_dist.tensors.tensor import Tensor


class _Affine(Module):
    """An optional weight and an optional bias, which start as one and zero."""

    weight: Tensor | None
    bias: Tensor | None

    def _register(self, shape: Any, weight: bool, bias: bool, device: Any, dtype: Any) -> None:
        for name, wanted in (("weight", weight), ("bias", bias)):
            made = creation.empty(shape, device=device, dtype=dtype) if wanted else None
            self.register_parameter(name, None if made is None else Parameter(made))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)


class LayerNorm(_Affine):
    """Mean 0 and variance 1 over the last dimensions, whose shape is given (arXiv:1607.06450)."""

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _as_shape(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        with_bias = elementwise_affine and bias
        self._register(self.normalized_shape, elementwise_affine, with_bias, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        )


class RMSNorm(_Affine):
    """Divided by the root of the mean square over the last dimensions (arXiv:1910.07467)."""

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _as_shape(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        made = creation.empty(self.normalized_shape, device=device, dtype=dtype)
        self.register_parameter("weight", Parameter(made) if elementwise_affine else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        )


class GroupNorm(_Affine):
    """Mean 0 and variance 1 over each group of channels of a sample (arXiv:1803.08494)."""

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(
                f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})"
            )
        self.num_groups, self.num_channels = num_groups, num_channels
        self.eps, self.affine = eps, affine
        self._register(num_channels, affine, affine and bias, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


def _as_shape(given: int | Sequence[int]) -> tuple[int, ...]:
    return (given,) if isinstance(given, int) else tuple(given)
