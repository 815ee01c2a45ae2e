"""Truth tables and bit patterns."""

from __future__ import annotations

import numpy as np

from minitorch_dist.tensors.core.base import Array, Number, T
from minitorch_dist.tensors.core.graph import result
from minitorch_dist.tensors.core.operations import compute
from minitorch_dist.tensors.core.views import inplace
from minitorch_dist.tensors.promotion import (
    not_implemented,
    on_result_device,
    promote,
)

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


bitwise_and_ = inplace(bitwise_and)
bitwise_or_ = inplace(bitwise_or)
bitwise_xor_ = inplace(bitwise_xor)
bitwise_left_shift_ = inplace(bitwise_left_shift)
bitwise_right_shift_ = inplace(bitwise_right_shift)
