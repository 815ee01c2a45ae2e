"""Truth tables and bit patterns."""

from __future__ import annotations

import numpy as np

from minitorch_dist.tensors.core.base import Array, Number, T, TensorBase
from minitorch_dist.tensors.core.graph import result
from minitorch_dist.tensors.core.operations import compute
from minitorch_dist.tensors.core.promotion import (
    not_a_tensor,
    not_implemented,
    on_result_device,
    promote,
)
from minitorch_dist.tensors.core.views import inplace

# ------------------------------------------------------------------ truth: whatever is not 0 is true


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


# ------------------------------------------------------------------------------------------- bits


def _bitwise(ufunc: np.ufunc, input: T, other: T | Number, kernel: str) -> T:
    input, other = promote(input, other)
    if input.array.dtype.kind not in "iub":
        raise not_implemented(kernel, input.array)
    return result(on_result_device(input, other), compute(ufunc, input.array, other.array))


def bitwise_and(input: T, other: T | Number) -> T:
    """input & other"""
    return _bitwise(np.bitwise_and, input, other, "bitwise_and_cpu")


def bitwise_or(input: T, other: T | Number) -> T:
    """input | other"""
    return _bitwise(np.bitwise_or, input, other, "bitwise_or_cpu")


def bitwise_xor(input: T, other: T | Number) -> T:
    """input ^ other"""
    return _bitwise(np.bitwise_xor, input, other, "bitwise_xor_cpu")


def bitwise_not(input: T) -> T:
    """~input"""
    x = input.array
    if x.dtype.kind not in "iub":
        raise not_implemented("bitwise_not_cpu", x)
    return result(input, np.invert(x))


def bitwise_left_shift(input: T, other: T | Number) -> T:
    """input << other"""
    input, other = promote(input, other)
    return _shift(np.left_shift, input, other, "lshift_cpu")


def bitwise_right_shift(input: T, other: T | Number) -> T:
    """input >> other; the sign stays"""
    input, other = promote(input, other)
    return _shift(np.right_shift, input, other, "rshift_cpu")


def _shift(ufunc: np.ufunc, input: T, other: T, kernel: str) -> T:
    x, y = input.array, other.array
    if x.dtype.kind not in "iu":
        raise not_implemented(kernel, x)

    def shifted(x: Array, y: Array) -> Array:
        far = (y < 0) | (y >= x.dtype.itemsize * 8)  # C leaves this open; torch shifts all bits out
        out = ufunc(x, np.where(far, 0, y).astype(y.dtype))
        gone = -(x < 0).astype(x.dtype) if ufunc is np.right_shift and x.dtype.kind == "i" else 0
        return np.where(far, np.asanyarray(gone, x.dtype), out)

    return result(on_result_device(input, other), compute(shifted, x, y))


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
bitwise_and_ = inplace(bitwise_and)
bitwise_or_ = inplace(bitwise_or)
bitwise_xor_ = inplace(bitwise_xor)
bitwise_not_ = inplace(bitwise_not)
bitwise_left_shift_ = inplace(bitwise_left_shift)
bitwise_right_shift_ = inplace(bitwise_right_shift)
gcd_ = inplace(gcd)
lcm_ = inplace(lcm)
