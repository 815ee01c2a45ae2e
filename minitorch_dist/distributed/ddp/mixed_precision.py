"""Training in a lower precision: forward and backward in `param_dtype`, everything else in full.

Parameters hold low copies of themselves while the module runs: forward, and backward for checkpoints, which
run it again. At all other times they hold their full values, so state_dict and optimizer never see anything
else. Gradients are reduced in `reduce_dtype` and end up in the parameters' own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from minitorch_dist.distributed.ddp import buckets
from minitorch_dist.nn.modules.module import Module
from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.autograd import passes
from minitorch_dist.tensors.autograd.hooks import RemovableHandle, hooks_of
from minitorch_dist.tensors.core import base, engine, graph
from minitorch_dist.tensors.core.base import TensorBase
from minitorch_dist.tensors.ops.elementwise import copying
from minitorch_dist.tensors.tensor import Tensor


@dataclass
class _MixedPrecision:  # torch's name
    param_dtype: dtypes.dtype | None = None
    reduce_dtype: dtypes.dtype | None = None
    buffer_dtype: dtypes.dtype | None = None


class LowPrecision:
    """Exchanges the values of a module's parameters for lower ones, and back."""

    def __init__(self, config: _MixedPrecision, module: Module) -> None:
        self.config = config
        self._parameters = [p for p in module.parameters() if p.array.dtype.kind not in "iub"]
        self._full: list[Tensor] = []
        self._pass: engine.BackwardPass | None = None
        if config.buffer_dtype is not None:
            for buffer in module.buffers():
                if buffer.array.dtype.kind not in "iub":
                    copying.set_data(buffer, buffer.to(dtype=config.buffer_dtype))

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Within the block the parameters are low."""
        self._lower()
        try:
            yield
        finally:
            self._restore()

    def _lower(self) -> None:
        if self.config.param_dtype is None or self._full:
            return
        dtype = self.config.param_dtype.numpy
        for p in self._parameters:
            self._full.append(base.new(Tensor, p.array, p.storage.device))
            low = base.new(Tensor, p.array.astype(dtype), p.storage.device)
            copying.set_data(p, low)

    def _restore(self) -> None:
        for p, full in zip(self._parameters, self._full, strict=False):
            copying.set_data(p, full)
        self._full = []

    def watch(self, outputs: Iterable[TensorBase]) -> None:
        """Be low as well during the backward passes that come through these."""
        for output in outputs:
            edge = graph.edge_of(output)
            if edge is not None:
                RemovableHandle(hooks_of(edge[0]).reached, self._reached)

    def _reached(self) -> None:
        running = passes.outermost()
        if running is not None and running is not self._pass:
            self._pass = running
            self._lower()
            running.callbacks.insert(0, self._leave)

    def _leave(self) -> None:
        self._pass = None
        self._restore()
        for p in self._parameters:
            grad = buckets.of(p)
            if grad is not None and grad.array.dtype != p.array.dtype:
                whole = base.new(Tensor, grad.array.astype(p.array.dtype), p.storage.device)
                buckets.keep(p, whole)

    def cast(self, value: Any) -> Any:
        """Floating tensors in `value`, in the parameters' low precision."""
        dtype = self.config.param_dtype
        if dtype is None:
            return value
        if isinstance(value, TensorBase):
            return value.to(dtype=dtype) if value.array.dtype.kind not in "iub" else value  # type: ignore[attr-defined]
        if isinstance(value, list | tuple):
            items = [self.cast(item) for item in value]
            return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
        if isinstance(value, dict):
            return {key: self.cast(item) for key, item in value.items()}
        return value

    def __repr__(self) -> str:
        state = "low now" if self._full else "full now"
        return f"<LowPrecision {self.config}, {len(self._parameters)} parameters, {state}>"
