"""Normalisation per channel, over the batch (arXiv:1502.03167).

In training the statistics of the batch are used, and running averages of them are kept; in
evaluation the averages are used. So a training forward writes to the module's buffers: calls on
several threads need a lock.
"""

from __future__ import annotations

from typing import Any, ClassVar

from minitorch_dist.nn import functional as F, init
from minitorch_dist.nn.modules.normalization import Affine
from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.makers import creation
from minitorch_dist.tensors.tensor import Tensor


class _BatchNorm(Affine):
    """Weight and bias per channel if `affine`, running averages if `track_running_stats`."""

    dims: ClassVar[tuple[int, ...]]  # that an input may have
    _version = 2  # of torch, which has num_batches_tracked in the state since then
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: dtypes.dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        self._register_statistics(device, dtype)
        self._register(num_features, device, dtype, weight=affine, bias=affine and bias)

    def _register_statistics(self, device: Any, dtype: dtypes.dtype | None) -> None:
        made: dict[str, Any] = dict.fromkeys(("running_mean", "running_var", "num_batches_tracked"))
        if self.track_running_stats:
            made["running_mean"] = creation.zeros(self.num_features, device=device, dtype=dtype)
            made["running_var"] = creation.ones(self.num_features, device=device, dtype=dtype)
            made["num_batches_tracked"] = creation.zeros((), device=device, dtype=dtypes.int64)
        for name, tensor in made.items():
            self.register_buffer(name, tensor)

    def reset_running_stats(self) -> None:
        for name, buffer in self._buffers.items():
            if buffer is not None and self.track_running_stats:
                init.constant_(buffer, 1 if name == "running_var" else 0)

    def reset_parameters(self) -> None:
        self.reset_running_stats()
        super().reset_parameters()

    def _check_input_dim(self, input: Tensor) -> None:
        if input.array.ndim not in self.dims:
            text = " or ".join(f"{n}D" for n in self.dims)
            raise ValueError(f"expected {text} input (got {input.array.ndim}D input)")

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        momentum = 0.0 if self.momentum is None else self.momentum
        counter = self.num_batches_tracked
        if self.training and self.track_running_stats and counter is not None:
            counter.array[...] += 1
            counter.storage.version += 1
            if self.momentum is None:  # the plain average of all batches
                momentum = 1 / float(counter.array)
        keep = not self.training or self.track_running_stats
        return F.batch_norm(
            input,
            self.running_mean if keep else None,
            self.running_var if keep else None,
            self.weight,
            self.bias,
            self.training or (self.running_mean is None and self.running_var is None),
            momentum,
            self.eps,
        )


class BatchNorm1d(_BatchNorm):
    """Over (N, C) or (N, C, L)."""

    dims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Mean 0 and variance 1 of each channel, over (N, C, H, W).

    Args:
        num_features: C.
        eps: Added to the variance.
        momentum: The weight of a new batch in the running statistics; None averages all.
        affine: Multiply by a weight for each channel, and add a bias.
        track_running_stats: Keep statistics for evaluation.
        device: The simulated device of its parameters.
        dtype: The type of its parameters.
        bias: False leaves the bias out.

    Example:
        >>> nn.BatchNorm2d(3)(torch.randn(4, 3, 2, 2)).shape
        torch.Size([4, 3, 2, 2])
    """

    dims = (4,)
