"""Instance norm: each channel of each image is normalised by itself (arXiv:1607.08022)."""

from __future__ import annotations

from typing import Any

from minitorch_dist.nn import functional as F
from minitorch_dist.nn.modules.module import Module
from minitorch_dist.nn.parameter import Parameter
from minitorch_dist.tensors.ops.making import creation
from minitorch_dist.tensors.tensor import Tensor


class _InstanceNorm(Module):
    """Without learned scales unless `affine` asks for them; nothing is remembered between batches."""

    weight: Tensor | None
    bias: Tensor | None
    dims = 0
    _version = 2

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        *,
        affine: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.num_features, self.eps, self.affine = num_features, eps, affine
        self.register_parameter("weight", None)
        self.register_parameter("bias", None)
        if affine:
            self.weight = Parameter(creation.ones(num_features, device=device, dtype=dtype))
            self.bias = Parameter(creation.zeros(num_features, device=device, dtype=dtype))

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (self.dims + 1, self.dims + 2):
            raise ValueError(
                f"expected {self.dims + 1}D or {self.dims + 2}D input (got {input.dim()}D input)"
            )
        if input.dim() == self.dims + 1:
            return self.forward(input.unsqueeze(0)).squeeze(0)
        if self.affine and input.size(1) != self.num_features:
            raise ValueError(
                f"expected input's size at dim=1 to match num_features ({self.num_features}), but got: "
                f"{input.size(1)}."
            )
        return F.instance_norm(input, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.num_features}, eps={self.eps}, momentum=0.1, affine={self.affine}, bias={self.affine}, track_running_stats=False"  # fmt: skip


class InstanceNorm1d(_InstanceNorm):
    """Over (N, C, L) or (C, L)."""

    dims = 1


class InstanceNorm2d(_InstanceNorm):
    """Over (N, C, H, W) or (C, H, W)."""

    dims = 2
