"""Element by element: exponentials and logarithms, truth tables, questions about infinity, and in-place forms."""

from __future__ import annotations

import math

import numpy as np

from minitorch_dist.tensors.core.base import T, TensorBase
from minitorch_dist.tensors.core.graph import record, result
from minitorch_dist.tensors.core.operations import compute
from minitorch_dist.tensors.core.views import inplace
from minitorch_dist.tensors.core.without_warnings import without_warnings
from minitorch_dist.tensors.ops.elementwise.comparison import lt, ne
from minitorch_dist.tensors.ops.elementwise.exponentials import exp, log, sigmoid
from minitorch_dist.tensors.ops.elementwise.powers import sqrt
from minitorch_dist.tensors.ops.elementwise.rounding import abs, sign
from minitorch_dist.tensors.ops.elementwise.trigonometry import tanh
from minitorch_dist.tensors.promotion import (
    floating,
    not_a_tensor,
    on_result_device,
)

LN2, LN10 = math.log(2), math.log(10)

# --------------------------------------------------------------------------- exponentials, angles


def exp2(input: T) -> T:
    """2 to the power of each element"""
    x = floating(input)
    out = without_warnings(np.exp2, x.array)
    return record(
        out, "Exp2Backward0", (x, lambda g: g * out * g.dtype.type(LN2)), reads_result=True
    )


def log2(input: T) -> T:
    """The logarithm to base 2"""
    return _logarithm(input, np.log2, "Log2Backward0", LN2)


def log10(input: T) -> T:
    """The logarithm to base 10"""
    return _logarithm(input, np.log10, "Log10Backward0", LN10)


def _logarithm(input: T, ufunc: np.ufunc, name: str, of_base: float) -> T:
    x = floating(input)
    a = x.array
    out = without_warnings(ufunc, a)
    return record(out, name, (x, lambda g: g / (a * a.dtype.type(of_base)), x))


def tan(input: T) -> T:
    x = floating(input)
    out = without_warnings(np.tan, x.array)
    return record(out, "TanBackward0", (x, lambda g: g * (1 + out * out)), reads_result=True)


# --------------------------------------------------------------------------------- truth tables


def logical_and(input: T, other: T) -> T:
    """Whether both elements are not 0"""
    return _logical(np.logical_and, input, other)


def logical_or(input: T, other: T) -> T:
    """Whether at least one of the elements is not 0"""
    return _logical(np.logical_or, input, other)


def _logical(ufunc: np.ufunc, input: T, other: T) -> T:
    if not isinstance(other, TensorBase):
        raise not_a_tensor(other)
    return result(on_result_device(input, other), compute(ufunc, input.array, other.array))


def logical_not(input: T) -> T:
    """Whether the element is 0"""
    return result(input, np.logical_not(input.array))


# ------------------------------------------------------------------------------------- infinity


def isinf(input: T) -> T:
    """Which elements are infinite"""
    return result(input, np.isinf(input.array))


# --------------------------------------------------------------------- second names, in-place forms

less, not_equal = lt, ne
exp_, log_, sigmoid_, tanh_ = inplace(exp), inplace(log), inplace(sigmoid), inplace(tanh)
sqrt_, abs_, sign_ = inplace(sqrt), inplace(abs), inplace(sign)
