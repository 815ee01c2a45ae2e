"""What `x + y`, `2 - x`, `x == y`, `~x` mean: Python's operators, in terms of the operations.

An operand that is no tensor and no number is not an error yet: the operator then answers
NotImplemented, and Python asks the other operand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.base import Array
from minitorch_dist.tensors.graph import result
from minitorch_dist.tensors.ops.elementwise.arithmetic import NotAnOperand, mul
from minitorch_dist.tensors.ops.elementwise.powers import reciprocal


def binary(operation: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    """The operator `self ∘ other`"""

    def operator(self: Any, other: Any) -> Any:
        try:
            return operation(self, other)
        except NotAnOperand:
            if isinstance(other, np.ndarray):
                return operation(self, taken_in(self, other))
            return NotImplemented

    return operator


def reflected(operation: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    """The operator `other ∘ self`, asked when `other` did not know the answer.

    `operation(self, other)` computes it: `rsub` for a minus.
    """

    def operator(self: Any, other: Any) -> Any:
        try:
            return operation(self, other)
        except NotAnOperand:
            return NotImplemented

    return operator


def taken_in(self: Any, array: Array) -> Any:
    """A numpy operand as a tensor. torch hands such operations to numpy, which knows no graph."""
    if self.requires_grad:
        raise RuntimeError(
            "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() "
            "instead, or make a tensor of the array first: from_numpy(array)."
        )
    dtypes.from_numpy(array.dtype)  # which complains about what a tensor cannot hold
    return result(self, array.copy())


def swap(operation: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    """The operation with its operands exchanged"""
    return lambda self, other: operation(other, self)


def divided_by(self: Any, other: Any) -> Any:
    """other / self, rounded as torch does it: the reciprocal, times the number"""
    return mul(reciprocal(self), other)


def invert(self: Any) -> Any:
    """~self"""
    if self.array.dtype.kind not in "iub":
        raise TypeError(
            "~ (operator.invert) is only implemented on integer and Boolean-type tensors"
        )
    return result(self, np.invert(self.array))
