"""When to average the ranks' parameters: every `period` steps, after a warm-up.

step      0 1 2 3 4 5 6 7 8 9         warmup_steps=3, period=4
averages        x       x             at 3, 7, 11, …
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

import numpy as np

from minitorch_dist.distributed.torch_api.process_group import ProcessGroup, or_default
from minitorch_dist.distributed.torch_api.tensor_collectives import all_reduce
from minitorch_dist.tensors.core import base
from minitorch_dist.tensors.core.base import TensorBase
from minitorch_dist.tensors.tensor import Tensor


class ModelAverager(ABC):
    """Counts steps, and averages parameters at some of them. `step` is saved by its optimizer."""

    def __init__(self, process_group: ProcessGroup | None = None) -> None:
        self.process_group = or_default(process_group)
        self.step = 0

    @abstractmethod
    def average_parameters(self, params: Any) -> None: ...


class PeriodicModelAverager(ModelAverager):
    """Every `period` steps from step `warmup_steps` on."""

    def __init__(
        self, period: int, warmup_steps: int = 0, process_group: ProcessGroup | None = None
    ) -> None:
        super().__init__(process_group)
        if warmup_steps < 0:
            raise ValueError("Arg ``warmup_steps`` must be a non-negative number.")
        if period < 1:
            raise ValueError("Arg ``period`` must be a positive value.")
        if period == 1:
            warnings.warn(
                "When period is 1, no need to use model averaging because the communication cost of "
                "all-reducing parameters will be no less than the cost of all-reducing gradients by "
                "DistributedDataParallel in the backward pass. Therefore, only DistributedDataParallel "
                "should be used for this case.",
                stacklevel=2,
            )
        self.period, self.warmup_steps = period, warmup_steps

    def average_parameters(self, params: Any) -> None:
        """Called once per step, with parameters or an optimizer's groups of them."""
        if self.step >= self.warmup_steps and (self.step - self.warmup_steps) % self.period == 0:
            average(parameters_of(params), self.process_group)
        self.step += 1

    def __repr__(self) -> str:
        return (
            f"<PeriodicModelAverager: step {self.step}, averages every {self.period} steps "
            f"from {self.warmup_steps} on>"
        )


def parameters_of(params: Any) -> list[TensorBase]:
    """Those that have a gradient, of parameters or of an optimizer's groups."""
    found: list[TensorBase] = []
    for item in params:
        found.extend(item["params"] if isinstance(item, dict) else [item])
    return [p for p in found if p._grad is not None]


def average(params: Iterable[TensorBase], group: ProcessGroup) -> None:
    """Let every rank hold the average of all ranks' parameters."""
    by_dtype: dict[Any, list[TensorBase]] = {}
    for p in params:
        by_dtype.setdefault(p.array.dtype, []).append(p)
    for dtype, together in by_dtype.items():
        flat = np.concatenate([p.array.reshape(-1) for p in together])
        flat /= dtype.type(group.size())
        if group.size() > 1:
            all_reduce(base.new(Tensor, flat), group=group)
        stop = 0
        for p in together:
            start, stop = stop, stop + p.array.size
            p.array[...] = flat[start:stop].reshape(p.array.shape)
            p.storage.version += 1
