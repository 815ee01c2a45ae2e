"""Division and its remainders. True division yields floats; the others keep the operands' type."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch_dist.tensors.core.base import Array, Number, T, TensorBase
from minitorch_dist.tensors.core.graph import record
from minitorch_dist.tensors.core.operations import compute, plain, sum_to, with_number
from minitorch_dist.tensors.core.views import inplace
from minitorch_dist.tensors.promotion import not_implemented, promote


def div(input: T, other: T | Number) -> T:
    """input / other"""
    try:
        x = input.array
    except AttributeError:
        return div(*promote(input, other, floating=True))
    if isinstance(other, TensorBase) and other.array.dtype is x.dtype and x.dtype.kind not in "iub":
        y = other.array
    elif plain(x, other):
        return record(
            with_number(np.divide, x, other), "DivBackward0", (input, lambda g: with_number(np.divide, g, other), None)
        )
    else:
        input, other = promote(input, other, floating=True)
        x, y = input.array, other.array
    shape = x.shape
    return record(
        compute(np.divide, x, y),
        "DivBackward0",
        (input, lambda g: sum_to(g / y, shape), other),
        (other, lambda g: sum_to(-g * (x / y / y), y.shape), input, other),
    )


def check_divisor(name: str, y: Array) -> None:
    if y.dtype.kind == "b":
        raise not_implemented(name, y)
    if y.dtype.kind in "iu" and not y.all():
        raise RuntimeError("ZeroDivisionError")  # torch's words: integers have no infinity


def floor_divide(input: T, other: T | Number) -> T:
    """input / other rounded down, as Python's `//`. It has no gradient."""
    input, other = promote(input, other)
    check_divisor("div_floor_cpu", other.array)
    out = compute(np.floor_divide, input.array, other.array)
    return record(out, "NotImplemented", (input, _no_derivative), (other, _no_derivative))


def _no_derivative(grad: Array) -> Any:
    raise RuntimeError("derivative for aten::floor_divide is not implemented")


def remainder(input: T, other: T | Number) -> T:
    """input - other * floor(input / other), as Python's `%`: it has the sign of `other`."""
    input, other = promote(input, other)
    x, y = input.array, other.array
    check_divisor("remainder_cpu", y)
    a, b = x.shape, y.shape
    return record(
        compute(np.remainder, x, y),
        "RemainderBackward1",
        (input, lambda g: sum_to(g, a)),
        (other, lambda g: sum_to(-g * np.floor_divide(x, y), b), input, other),
    )


floor_divide_ = inplace(floor_divide)
remainder_ = inplace(remainder)
