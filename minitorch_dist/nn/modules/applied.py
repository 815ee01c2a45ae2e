"""Layers that are one function of `nn.functional`, with its options kept."""

from __future__ import annotations

from typing import Any, ClassVar

from minitorch_dist.nn.modules.module import Module
from minitorch_dist.tensors.tensor import Tensor


class Applied(Module):
    """Calls `function` with its inputs, and with the attributes whose names are `options`."""

    function: ClassVar[Any]  # a staticmethod
    options: ClassVar[tuple[str, ...]] = ()

    def forward(self, *inputs: Any, **named: Any) -> Tensor:
        found: Tensor = self.function(*inputs, **named, **{name: getattr(self, name) for name in self.options})
        return found

    def extra_repr(self) -> str:
        shown = [name for name in self.options if name != "inplace" or getattr(self, name)]
        return ", ".join(f"{name}={getattr(self, name)!r}" for name in shown)
