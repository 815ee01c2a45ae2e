"""Truth tables and bit patterns: those that are rarely used."""

from __future__ import annotations

import numpy as np

from minitorch_dist.tensors.core.base import T, TensorBase
from minitorch_dist.tensors.core.graph import result
from minitorch_dist.tensors.core.operations import compute
from minitorch_dist.tensors.core.views import inplace
from minitorch_dist.tensors.promotion import (
    not_a_tensor,
    not_implemented,
    on_result_device,
    promote,
)


def logical_and(input: T, other: T) -> T:
    """Whether both elements are not 0"""
    return _logical(np.logical_and, input, other)


def logical_or(input: T, other: T) -> T:
    """Whether at least one of the elements is not 0"""
    return _logical(np.logical_or, input, other)


def logical_xor(input: T, other: T) -> T:
    """Whether exactly one of the elements is not 0"""
    return _logical(np.logical_xor, input, other)


def _logical(ufunc: np.ufunc, input: T, other: T) -> T:
    if not isinstance(other, TensorBase):
        raise not_a_tensor(other)
    return result(on_result_device(input, other), compute(ufunc, input.array, other.array))


def logical_not(input: T) -> T:
    """Whether the element is 0"""
    return result(input, np.logical_not(input.array))


def bitwise_not(input: T) -> T:
    """~input"""
    x = input.array
    if x.dtype.kind not in "iub":
        raise not_implemented("bitwise_not_cpu", x)
    return result(input, np.invert(x))


def gcd(input: T, other: T) -> T:
    """The greatest common divisor"""
    return _divisors(np.gcd, input, other, "gcd_cpu")


def lcm(input: T, other: T) -> T:
    """The least common multiple"""
    return _divisors(np.lcm, input, other, "lcm_cpu")


def _divisors(ufunc: np.ufunc, input: T, other: T, kernel: str) -> T:
    input, other = promote(input, other)
    if input.array.dtype.kind not in "iu":
        raise not_implemented(kernel, input.array)
    return result(on_result_device(input, other), compute(ufunc, input.array, other.array))


logical_and_ = inplace(logical_and)
logical_or_ = inplace(logical_or)
logical_xor_ = inplace(logical_xor)
logical_not_ = inplace(logical_not)
bitwise_not_ = inplace(bitwise_not)
gcd_ = inplace(gcd)
lcm_ = inplace(lcm)
