"""`GradScaler` for gradients of which each rank has a part: all skip a step where one found inf or nan."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch_dist.amp.grad_scaler import GradScaler
from minitorch_dist.distributed import distributed_c10d
from minitorch_dist.distributed.reduce_op import ReduceOp
from minitorch_dist.distributed.torch_api import tensor_collectives
from minitorch_dist.distributed.torch_api.process_group import ProcessGroup
from minitorch_dist.tensors.core import base
from minitorch_dist.tensors.tensor import Tensor


class ShardedGradScaler(GradScaler):
    """With an FSDP-wrapped model; `process_group` is the one that it is sharded over. Its `unscale_` and
    `step` are collective."""

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        backoff_factor: float = 0.5,
        growth_factor: float = 2.0,
        growth_interval: int = 2000,
        enabled: bool = True,
        process_group: ProcessGroup | None = None,
    ) -> None:
        super().__init__(
            device, init_scale, growth_factor, backoff_factor, growth_interval, enabled
        )
        self.process_group = process_group

    def _agreed(self, found_inf: bool, grads: list[Any]) -> bool:
        if not distributed_c10d.is_initialized():
            return found_inf
        told = base.new(Tensor, np.array([found_inf], np.float32))
        tensor_collectives.all_reduce(told, ReduceOp.MAX, self.process_group)
        return bool(told.array[0])
