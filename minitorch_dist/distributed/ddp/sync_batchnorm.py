"""Batch normalisation over the batches of all ranks.

    each rank   Σ x and how many        all_reduce     mean = Σ x / n
    each rank   Σ (x - mean)²           all_reduce     var = Σ (x - mean)² / n
    each rank   (x - mean) / √(var + ε)

Both sums are differentiable collectives, so gradients flow to all ranks' inputs. So P ranks with parts of a batch compute
what one rank computes with all of it; an empty part is fine. torch's works on accelerators only. Weight and
bias get this rank's gradients, which DDP averages.
"""

from __future__ import annotations

from typing import Any, Self

from minitorch_dist.distributed import distributed_c10d
from minitorch_dist.distributed.groups import ProcessGroup, resolve
from minitorch_dist.distributed.nn.functional import all_reduce
from minitorch_dist.nn.modules.batchnorm import _BatchNorm
from minitorch_dist.tensors.core.base import Array
from minitorch_dist.tensors.ops.shapes import joining
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
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.array.ndim < 2:
            raise ValueError(f"expected at least 2D input (got {input.array.ndim}D input)")

    def forward(self, input: Tensor) -> Tensor:
        if not (self.training and distributed_c10d.is_initialized()):
            return super().forward(input)
        group = resolve(self.process_group)
        if group.size() == 1:
            return super().forward(input)
        self._check_input_dim(input)
        if input.array.shape[1] != self.num_features:
            raise RuntimeError(f"running_mean should contain {input.array.shape[1]} elements not {self.num_features}")
        return self._over_all_ranks(input, group)

    def _over_all_ranks(self, input: Tensor, group: ProcessGroup) -> Tensor:
        others, per_channel = [0, *range(2, input.ndim)], [1, -1, *[1] * (input.ndim - 2)]
        x = input.double()
        mine = x.new_full((1,), input.numel() / self.num_features)
        whole = all_reduce(joining.cat([x.sum(others), mine]), group=group)
        count = int(whole[-1].item())
        if count < 2:
            raise ValueError(
                "Expected more than 1 value per channel when training, got input size "
                f"{input.shape} on rank {group.rank()} and {count} value in all"
            )
        mean = whole[:-1] / count
        centred = x - mean.view(per_channel)
        var = all_reduce((centred * centred).sum(others), group=group) / count
        self._keep(count, mean.array, var.array)
        out: Any = centred / (var + self.eps).sqrt().view(per_channel)
        if self.weight is not None:
            out = out * self.weight.view(per_channel)
        if self.bias is not None:
            out = out + self.bias.view(per_channel)
        return out.to(input.dtype)  # type: ignore[no-any-return]

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
        for running, value in ((self.running_mean, mean), (self.running_var, var * count / (count - 1))):
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
            module.num_features,
            module.eps,
            module.momentum,
            module.affine,
            module.track_running_stats,
            group,
            bias=module.bias is not None,
        )
        made._parameters.update(module._parameters)
        made._buffers.update(module._buffers)
        made.training = module.training
        return made
