"""Truth tables and bit patterns."""

from __future__ import annotations

import numpy as np

from minitorch_dist.tensors.core.base import Number, T, TensorBase
from minitorch_dist.tensors.core.graph import result
from minitorch_dist.tensors.core.operations import compute
from minitorch_dist.tensors.core.views import inplace
from minitorch_dist.tensors.promotion import not_a_tensor, not_implemented, on_result_device, promote


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


bitwise_and_ = inplace(bitwise_and)
bitwise_or_ = inplace(bitwise_or)
bitwise_xor_ = inplace(bitwise_xor)
