"""Tensors that belong to a module: parameters are trained, buffers are only carried along."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch_dist.tensors import devices, dtypes, ledger
from minitorch_dist.tensors.core.base import Storage, T, TensorBase, bare
from minitorch_dist.tensors.ops.elementwise import copying
from minitorch_dist.tensors.ops.shapes import duplication
from minitorch_dist.tensors.tensor import Tensor


class Parameter(Tensor):
    """A leaf that a module registers when it is assigned to one of its attributes.

    A result that is computed from it is an ordinary Tensor.

    Args:
        data: The tensor whose memory it shares.
        requires_grad: Whether autograd records operations on it.

    Example:
        >>> nn.Parameter(torch.ones(2)).requires_grad
        True
    """

    held_as = "parameter"

    def __new__(cls, data: TensorBase | None = None, requires_grad: bool = True) -> Parameter:
        if data is not None and getattr(data, "is_part", False):
            return data.as_parameter(requires_grad)  # type: ignore[attr-defined, no-any-return]
        out = _adopted(cls, data)
        out.requires_grad = requires_grad
        return out

    def __init__(self, data: TensorBase | None = None, requires_grad: bool = True) -> None:
        pass  # all done: a tensor's own constructor takes other arguments

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        """A copy without the gradient; each parameter gets memory of its own."""
        if id(self) not in memo:
            array, device = copying.dense(self.array), self.storage.device
            memo[id(self)] = duplication.rebuild(type(self), array, device, self.requires_grad, {})
        return memo[id(self)]  # type: ignore[no-any-return]

    def __repr__(self, **options: Any) -> str:
        return "Parameter containing:\n" + super().__repr__(**options)


class Buffer(Tensor):
    """A tensor that a module registers as a buffer when it is assigned to one of its attributes."""

    persistent: bool

    def __new__(cls, data: TensorBase | None = None, *, persistent: bool = True) -> Buffer:
        out = _adopted(cls, data)
        out.requires_grad = data is not None and data.requires_grad
        out.persistent = persistent
        return out

    def __init__(self, data: TensorBase | None = None, *, persistent: bool = True) -> None:
        pass


def _adopted(cls: type[T], data: TensorBase | None) -> T:
    """A tensor that looks at the memory of `data`, without its history."""
    if data is None:
        array = np.empty(0, dtypes.get_default_dtype().numpy)
        return bare(cls, array, Storage(array))
    if not isinstance(data, TensorBase):
        raise TypeError(
            f"a parameter is made from a Tensor, not from {type(data).__name__}; "
            "write Parameter(minitorch_dist.tensor(...))"
        )
    if data.storage.device is not devices.CPU:
        ledger.retag(data.array, data.storage.device, cls.held_as)
    return bare(cls, data.array, data.storage)
