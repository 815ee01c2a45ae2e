"""`Variable`, the name that tensors with gradients once had; old programs and DDP still use it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from minitorch_dist.tensors.autograd import passes
from minitorch_dist.tensors.core.base import TensorBase


class ImperativeEngine:
    """The handle behind `Variable._execution_engine`."""

    def queue_callback(self, callback: Callable[[], None]) -> None:
        """Call `callback` once, when the backward pass that is running has finished."""
        passes.queue_callback(callback)


class _AnyTensor(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, TensorBase)


class Variable(metaclass=_AnyTensor):
    """`Variable(data, requires_grad)` is `data.detach().requires_grad_(requires_grad)`."""

    _execution_engine: ClassVar[ImperativeEngine] = ImperativeEngine()

    def __new__(cls, data: Any, requires_grad: bool = False) -> Any:
        return data.detach().requires_grad_(requires_grad)
