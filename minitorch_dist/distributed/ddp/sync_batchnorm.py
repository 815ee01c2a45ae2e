"""Batch normalisation over the batches of all ranks.

    forward     each rank   count, mean, Σ(x - mean)²  per channel       all_gather
                together    n = Σ nᵣ      mean = Σ nᵣ meanᵣ / n
                            M₂ = Σ M₂ᵣ + nᵣ (meanᵣ - mean)²              (Chan, Golub & LeVeque 1979)
    backward    each rank   Σ g, Σ g x̂                                   all_reduce
                dx = weight / σ · (g - Σg/n - x̂ · Σ(g x̂)/n)

So P ranks with parts of a batch compute what one rank computes with all of it; an empty part is fine.
torch's works on accelerators only. Weight and bias get this rank's gradients, which DDP averages.
"""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from minitorch_dist.distributed import distributed_c10d
from minitorch_dist.distributed.torch_api.process_group import ProcessGroup, or_default
from minitorch_dist.distributed.torch_api.tensor_collectives import all_gather_single, all_reduce
from minitorch_dist.nn.modules.batchnorm import _BatchNorm
from minitorch_dist.tensors.autograd.joint import record_joint, wants
from minitorch_dist.tensors.core import base
from minitorch_dist.tensors.core.base import Array
from minitorch_dist.tensors.tensor import Tensor


class SyncBatchNorm(_BatchNorm):
    """Over (N, C, …) and over all ranks of `process_group` (the default group)."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: ProcessGroup | None = None,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.array.ndim < 2:
            raise ValueError(f"expected at least 2D input (got {input.array.ndim}D input)")

    def forward(self, input: Tensor) -> Tensor:
        if not (self.training and distributed_c10d.is_initialized()):
            return super().forward(input)
        group = or_default(self.process_group)
        if group.size() == 1:
            return super().forward(input)
        self._check_input_dim(input)
        if input.array.shape[1] != self.num_features:
            raise RuntimeError(
                f"running_mean should contain {input.array.shape[1]} elements not {self.num_features}"
            )
        return self._over_all_ranks(input, group)

    def _over_all_ranks(self, input: Tensor, group: ProcessGroup) -> Tensor:
        shape = input.array.shape
        x = input.array.reshape(*shape[:2], math.prod(shape[2:]))
        count, mean, var = _statistics(x, group)
        if count < 2:
            raise ValueError(
                "Expected more than 1 value per channel when training, got input size "
                f"{input.shape} on rank {group.rank()} and {count} value in all"
            )
        self._keep(count, mean, var)
        scale = 1 / np.sqrt(var + self.eps)
        normal = ((x - mean[:, None]) * scale[:, None]).astype(x.dtype)
        weight, bias = self.weight, self.bias
        out = normal
        if weight is not None:
            out = out * weight.array[:, None]
        if bias is not None:
            out = out + bias.array[:, None]
        wanted = wants(input, weight, bias)
        gain = scale if weight is None else scale * weight.array

        def backward(grad: Array) -> list[Array | None]:
            g = grad.reshape(x.shape)
            own = np.stack([g.sum((0, 2), np.float64), (g * normal).sum((0, 2), np.float64)])
            found: list[Array | None] = [None, None, None]
            if wanted[0]:
                whole = own.copy()
                all_reduce(base.new(Tensor, whole), group=group)
                first, second = whole[:, :, None] / count
                dx = (g - first - normal * second) * gain[:, None]
                found[0] = dx.reshape(shape).astype(x.dtype)
            if wanted[1] and weight is not None:
                found[1] = own[1].astype(weight.array.dtype)
            if wanted[2] and bias is not None:
                found[2] = own[0].astype(bias.array.dtype)
            return [
                found[number] for number, t in enumerate((input, weight, bias)) if t is not None
            ]

        inputs = [t for t in (input, weight, bias) if t is not None]
        reads = [t for t in (input, weight) if t is not None]
        return record_joint(
            out.reshape(shape).astype(x.dtype), "SyncBatchNormBackward", inputs, backward, reads
        )

    def _keep(self, count: int, mean: Array, var: Array) -> None:
        """Move the running statistics; those of all ranks stay equal."""
        if not self.track_running_stats or self.running_mean is None or self.running_var is None:
            return
        counter = self.num_batches_tracked
        momentum = self.momentum
        if counter is not None:
            counter.array[...] += 1
            counter.storage.version += 1
            if momentum is None:
                momentum = 1 / float(counter.array)
        step = 0.0 if momentum is None else momentum
        for running, value in (
            (self.running_mean, mean),
            (self.running_var, var * count / (count - 1)),
        ):
            running.array[...] += step * (value - running.array)
            running.storage.version += 1

    @classmethod
    def convert_sync_batchnorm(cls, module: Any, process_group: ProcessGroup | None = None) -> Any:
        """The module with a SyncBatchNorm in place of every BatchNorm, on the same tensors."""
        converted: Any = module
        if isinstance(module, _BatchNorm):
            converted = cls._in_place_of(module, process_group)
        for name, child in module.named_children():
            converted.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return converted

    @classmethod
    def _in_place_of(cls, module: _BatchNorm, group: ProcessGroup | None) -> Self:
        made = cls(
            module.num_features, module.eps, module.momentum, module.affine,
            module.track_running_stats, group, bias=module.bias is not None,
        )  # fmt: skip
        made._parameters.update(module._parameters)
        made._buffers.update(module._buffers)
        made.training = module.training
        return made


def _statistics(x: Array, group: ProcessGroup) -> tuple[int, Array, Array]:
    """Number of values, mean and variance of each channel, of all ranks."""
    channels = x.shape[1]
    n = x.shape[0] * x.shape[2]
    mean = x.mean((0, 2), np.float64) if n else np.zeros(channels)
    second = np.square(x - mean[:, None]).sum((0, 2), np.float64)
    mine = np.concatenate([[float(n)], mean, second])
    table = np.empty((group.size(), mine.size))
    all_gather_single(base.new(Tensor, table.reshape(-1)), base.new(Tensor, mine), group=group)
    counts, means, seconds = table[:, 0], table[:, 1 : 1 + channels], table[:, 1 + channels :]
    total = counts.sum()
    whole = counts @ means / max(total, 1)
    spread = seconds.sum(0) + counts @ np.square(means - whole)
    return int(total), whole, spread / max(total, 1)
