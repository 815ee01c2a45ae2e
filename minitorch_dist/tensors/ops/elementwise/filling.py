"""Overwriting all elements with one value."""

from __future__ import annotations

import numpy as np

from minitorch_dist.tensors.core.base import Number, T, TensorBase
from minitorch_dist.tensors.core.graph import record
from minitorch_dist.tensors.core.views import check_writable, rebase, wrote
from minitorch_dist.tensors.promotion import converted, is_number, not_a_tensor


def fill_(input: T, value: T | Number) -> T:
    """Set every element to `value`, a number or a 0-dim tensor."""
    check_writable(input)
    x = input.array
    if isinstance(value, TensorBase):
        if value.array.ndim:
            raise RuntimeError(
                "fill_ only supports 0-dimension value tensor but got tensor with "
                f"{value.array.ndim} dimensions."
            )
        number = value.array
    elif is_number(value):
        number = np.asanyarray(value)
    else:
        raise not_a_tensor(value, "value")
    x[...] = converted(number, input.dtype)
    wrote(input)
    erased = (input, np.zeros_like)
    if isinstance(value, TensorBase):
        out = record(x, "FillBackward1", erased, (value, np.sum))
    elif input._requires_grad:
        out = record(x, "FillBackward0", erased)
    else:
        return input
    if out._grad_fn is not None:
        rebase(input, (out._grad_fn, 0))
    return input


def zero_(input: T) -> T:
    """Set every element to 0."""
    check_writable(input)
    input.array[...] = 0
    wrote(input)
    if input._requires_grad:
        out = record(input.array, "ZeroBackward0", (input, np.zeros_like))
        if out._grad_fn is not None:
            rebase(input, (out._grad_fn, 0))
    return input
