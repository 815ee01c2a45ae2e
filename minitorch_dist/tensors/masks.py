"""A gradient that flows in some places only. A mask chooses; it is not a factor: 0 · inf would be nan.

Simple: `np.where(mask, grad, 0)`. It is ten times slower than a product on a mask without a pattern.
Fast: multiply the *bits* of the gradient, read as whole numbers, by 0 or 1. All bits 0 are the number 0.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from minitorch_dist.tensors.core.base import Array

BITS: Final = {2: np.int16, 4: np.int32, 8: np.int64}  # by the size of an element in bytes


def only(grad: Array, mask: Any) -> Any:
    """`grad` where the bools of `mask` are true and 0 elsewhere, also if `grad` is inf or nan there."""
    try:
        bits = BITS[grad.dtype.itemsize]
    except KeyError:  # complex128
        return np.where(mask, grad, grad.dtype.type(0))
    return np.multiply(grad.view(bits), mask).view(grad.dtype)
