"""Python's operators (`x + y`, `2 - x`, `x == y`, `~x`), in terms of the operations.

An operand that is not a tensor and no number is not an error yet: the operator then answers
NotImplemented, and Python asks the other operand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minitorch_dist.tensors.core.base import T
from minitorch_dist.tensors.core.graph import result
from minitorch_dist.tensors.core.operations import mul
from minitorch_dist.tensors.ops.elementwise.powers import reciprocal


def swap(operation: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    """The operation with its operands exchanged"""
    return lambda self, other: operation(other, self)


def divided_by(self: Any, other: Any) -> Any:
    """other / self, rounded as torch does it: the reciprocal, times the number"""
    return mul(reciprocal(self), other)


def invert(self: T) -> T:
    """~self"""
    if self.array.dtype.kind not in "iub":
        raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    return result(self, np.invert(self.array))
