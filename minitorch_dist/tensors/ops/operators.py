"""What `x + y`, `2 - x`, `x == y`, `~x` mean: Python's operators, in terms of the operations.

An operand that is no tensor and no number is not an error yet: the operator then answers
NotImplemented, and Python asks the other operand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minitorch_dist.tensors.base import TensorBase
from minitorch_dist.tensors.graph import result

OPERANDS = (TensorBase, int, float, np.number, np.bool_)


def binary(operation: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    """The operator `self ∘ other`"""

    def operator(self: Any, other: Any) -> Any:
        if isinstance(other, OPERANDS):
            return operation(self, other)
        if isinstance(other, np.ndarray):
            if self.requires_grad:
                raise RuntimeError(
                    "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() "
                    "instead, or make a tensor of the array first: from_numpy(array)."
                )
            return operation(self, result(self, other.copy()))
        return NotImplemented

    return operator


def reflected(operation: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    """The operator `other ∘ self`, asked when `other` did not know the answer"""

    def operator(self: Any, other: Any) -> Any:
        if isinstance(other, OPERANDS):
            return operation(other, self)
        return NotImplemented

    return operator


def both(operation: Callable[..., Any]) -> tuple[Callable[[Any, Any], Any], ...]:
    """The operator and its reflection"""
    return binary(operation), reflected(operation)


def invert(self: Any) -> Any:
    """~self"""
    if self.array.dtype.kind not in "iub":
        raise TypeError(
            "~ (operator.invert) is only implemented on integer and Boolean-type tensors"
        )
    return result(self, np.invert(self.array))
