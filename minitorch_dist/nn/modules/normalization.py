"""Normalisation within one sample: over its last dimensions, or over groups of channels, or over each channel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minitorch_dist.nn import functional as F, init
from minitorch_dist.nn.modules.module import Module
from minitorch_dist.nn.parameter import Parameter
from minitorch_dist.tensors.makers import creation
from minitorch_dist.tensors.tensor import Tensor


class Affine(Module):
    """An optional weight and an optional bias, which start as one and zero."""

    weight: Tensor | None
    bias: Tensor | None

    def _register(self, shape: Any, device: Any, dtype: Any, **wanted: bool) -> None:
        for name, is_wanted in wanted.items():
            made = creation.empty(shape, device=device, dtype=dtype) if is_wanted else None
            self.register_parameter(name, None if made is None else Parameter(made))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for name, fill in (("weight", init.ones_), ("bias", init.zeros_)):
            tensor = self._parameters.get(name)
            if tensor is not None:
                fill(tensor)


class LayerNorm(Affine):
    """Mean 0 and variance 1 over the last dimensions (arXiv:1607.06450).

    Args:
        normalized_shape: The shape of these dimensions.
        eps: Added to the variance.
        elementwise_affine: Multiply by a weight for each element.
        bias: Add a bias for each element.
        device: The simulated device of its parameters.
        dtype: The type of its parameters.

    Example:
        >>> nn.LayerNorm(4)(torch.randn(2, 4)).mean(1).abs().max().item() < 1e-6
        True
    """

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
        self._register(self.normalized_shape, device, dtype, weight=elementwise_affine, bias=with_bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        )


class RMSNorm(Affine):
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
        self._register(self.normalized_shape, device, dtype, weight=elementwise_affine)

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(Affine):
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
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups, self.num_channels = num_groups, num_channels
        self.eps, self.affine = eps, affine
        self._register(num_channels, device, dtype, weight=affine, bias=affine and bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class InstanceNorm2d(Affine):
    """Each channel of each image by itself, over (N, C, H, W) or (C, H, W) (arXiv:1607.08022).

    Without learned scales unless `affine` asks for them; nothing is remembered between batches.
    """

    dims = 2
    _version = 2

    def __init__(
        self, num_features: int, eps: float = 1e-5, *, affine: bool = False, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.num_features, self.eps, self.affine = num_features, eps, affine
        self._register(num_features, device, dtype, weight=affine, bias=affine)

    def forward(self, input: Tensor) -> Tensor:
        sizes = (self.dims + 1, self.dims + 2)
        if input.dim() not in sizes:
            raise ValueError(f"expected {sizes[0]}D or {sizes[1]}D input (got {input.dim()}D input)")
        if input.dim() == self.dims + 1:
            return self.forward(input.unsqueeze(0)).squeeze(0)
        if self.affine and input.size(1) != self.num_features:
            raise ValueError(
                f"expected input's size at dim=1 to match num_features ({self.num_features}), but got: {input.size(1)}."
            )
        return F.instance_norm(input, weight=self.weight, bias=self.bias, eps=self.eps)

    def extra_repr(self) -> str:
        return f"{self.num_features}, eps={self.eps}, momentum=0.1, affine={self.affine}, bias={self.affine}, track_running_stats=False"


class InstanceNorm1d(InstanceNorm2d):
    """Over (N, C, L) or (C, L)."""

    dims = 1


def _as_shape(given: int | Sequence[int]) -> tuple[int, ...]:
    return (given,) if isinstance(given, int) else tuple(given)
