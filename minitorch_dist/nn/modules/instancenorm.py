"""Normalisation per channel and per sample (arXiv:1607.08022)."""

from __future__ import annotations

import warnings
from typing import Any

from minitorch_dist.nn import functional as F
from minitorch_dist.nn.modules.batchnorm import _NormBase
from minitorch_dist.tensors.tensor import Tensor


class _InstanceNorm(_NormBase):
    dims: int

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )

    def forward(self, input: Tensor) -> Tensor:
        ndim = input.array.ndim
        if ndim not in (self.dims + 1, self.dims + 2):
            raise ValueError(
                f"expected {self.dims + 1}D or {self.dims + 2}D input (got {ndim}D input)"
            )
        channels = ndim - self.dims - 1
        found = input.array.shape[channels]
        if found != self.num_features:
            if self.affine:
                raise ValueError(
                    f"expected input's size at dim={channels} to match num_features "
                    f"({self.num_features}), but got: {found}."
                )
            warnings.warn(
                f"input's size at dim={channels} does not match num_features. You can silence this "
                "warning by not passing in num_features, which is not used because affine=False",
                stacklevel=2,
            )
        if ndim == self.dims + 1:
            return self._normalise(input.unsqueeze(0)).squeeze(0)
        return self._normalise(input)

    def _normalise(self, input: Tensor) -> Tensor:
        return F.instance_norm(
            input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )


class InstanceNorm1d(_InstanceNorm):
    """Over (N, C, L) or (C, L)."""

    dims = 1


class InstanceNorm2d(_InstanceNorm):
    """Over (N, C, H, W) or (C, H, W)."""

    dims = 2


class InstanceNorm3d(_InstanceNorm):
    """Over (N, C, D, H, W) or (C, D, H, W)."""

    dims = 3
