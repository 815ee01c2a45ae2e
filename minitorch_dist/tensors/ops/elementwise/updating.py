"""In-place arithmetic without a temporary.

Where nothing is recorded (an optimizer's step, a `no_grad` block), the result goes straight into
the array; everywhere else these are the ordinary in-place forms.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minitorch_dist.tensors.autograd.joint import wants_any
from minitorch_dist.tensors.core import grad_mode
from minitorch_dist.tensors.core.base import Number, T, TensorBase
from minitorch_dist.tensors.core.graph import result
from minitorch_dist.tensors.core.operations import add, compute, mul
from minitorch_dist.tensors.core.views import check_writable, inplace, write, wrote
from minitorch_dist.tensors.core.without_warnings import without_warnings
from minitorch_dist.tensors.ops.elementwise.arithmetic import sub
from minitorch_dist.tensors.ops.elementwise.division import div

_add_, _sub_, _mul_, _div_ = inplace(add), inplace(sub), inplace(mul), inplace(div)


def direct(input: TensorBase, other: object) -> bool:
    """Whether the array of `input` may simply be overwritten with an operation on both arrays."""
    x = input.array
    if isinstance(other, TensorBase):
        if other.array.dtype is not x.dtype or other.storage.device is not input.storage.device:
            return False
        if x.dtype.kind == "b" or other.plain is not input.plain:
            return False
    elif not ((type(other) is float or type(other) is int) and x.dtype.char in "fd"):
        return False
    return grad_mode.mode.get() != grad_mode.ON or not wants_any(
        (input, other) if isinstance(other, TensorBase) else (input,)
    )


def overwrite(function: Callable[..., Any], input: T, *operands: Any) -> T:
    """input = function(input, *operands), without a temporary array."""
    check_writable(input)
    x = input.array
    try:
        without_warnings(function, x, *operands, x)
    except ValueError:
        write(input, result(input, compute(function, x, *operands)))  # says what does not fit
    wrote(input, x, *[each for each in operands if isinstance(each, np.ndarray)])
    return input


def add_(input: T, other: T | Number, *, alpha: Number = 1) -> T:
    """In-place version of :func:`add`."""
    plain = type(alpha) is not bool and (alpha in (1, -1) or input.array.dtype.kind == "f")
    if plain and direct(input, other):
        y = other.array if isinstance(other, TensorBase) else other
        if alpha not in (1, -1):
            y = without_warnings(np.multiply, y, input.array.dtype.type(alpha))
        return overwrite(np.subtract if alpha == -1 else np.add, input, y)
    return _add_(input, other, alpha=alpha)


def sub_(input: T, other: T | Number, *, alpha: Number = 1) -> T:
    """In-place version of :func:`sub`."""
    if alpha == 1 and direct(input, other):
        return overwrite(np.subtract, input, getattr(other, "array", other))
    return _sub_(input, other, alpha=alpha)


def mul_(input: T, other: T | Number) -> T:
    """In-place version of :func:`mul`."""
    if direct(input, other):
        return overwrite(np.multiply, input, getattr(other, "array", other))
    return _mul_(input, other)


def div_(input: T, other: T | Number) -> T:
    """In-place version of :func:`div`."""
    if input.array.dtype.kind not in "iub" and direct(input, other):
        return overwrite(np.divide, input, getattr(other, "array", other))
    return _div_(input, other)
