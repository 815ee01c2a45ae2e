"""Operations of three tensors: fused products and interpolation."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch_dist.tensors.core.base import Array, Number, T, TensorBase
from minitorch_dist.tensors.core.graph import record
from minitorch_dist.tensors.core.operations import add, compute, mul, sum_to
from minitorch_dist.tensors.core.views import inplace
from minitorch_dist.tensors.core.without_warnings import without_warnings
from minitorch_dist.tensors.dtypes import type_name
from minitorch_dist.tensors.ops.elementwise.division import div
from minitorch_dist.tensors.ops.elementwise.updating import direct, overwrite
from minitorch_dist.tensors.promotion import broadcast_error, not_implemented


def addcmul(input: T, tensor1: T, tensor2: T, *, value: Number = 1) -> T:
    """input + value * tensor1 * tensor2"""
    if not isinstance(value, int) and _integers(input, tensor1, tensor2):
        value = int(value)  # type: ignore[arg-type]
    product = mul(tensor1, tensor2)
    return add(input, product if value == 1 else mul(product, value))


def addcdiv(input: T, tensor1: T, tensor2: T, *, value: Number = 1) -> T:
    """input + value * tensor1 / tensor2"""
    if _integers(tensor1, tensor2):
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported. Cast one of tensor1 and "
            "tensor2 to a floating type first, for example tensor1.float()."
        )
    quotient = div(tensor1, tensor2)
    return add(input, quotient if value == 1 else mul(quotient, value))


def _integers(*tensors: Any) -> bool:
    return all(isinstance(t, TensorBase) and t.array.dtype.kind in "iub" for t in tensors)


def lerp(input: T, end: T, weight: T | Number) -> T:
    """input + weight * (end - input)"""
    x, y = input.array, end.array
    if y.dtype != x.dtype:
        raise RuntimeError(
            f"expected dtype {type_name(x)[6:-6].lower()} for `end` but got dtype "
            f"{type_name(y)[6:-6].lower()}"
        )
    if x.dtype.kind in "iub":
        raise not_implemented("lerp_kernel_scalar", x)
    a, b = x.shape, y.shape
    if not isinstance(weight, TensorBase):
        w = x.dtype.type(weight)
        return record(
            _between(x, y, w),
            "LerpBackward0",
            (input, lambda g: sum_to(g * (1 - w), a)),
            (end, lambda g: sum_to(g * w, b)),
        )
    w = weight.array
    if w.dtype != x.dtype:
        raise RuntimeError(
            f"expected dtype {type_name(x)[6:-6].lower()} for `weight` but got dtype "
            f"{type_name(w)[6:-6].lower()}"
        )
    return record(
        _between(x, y, w),
        "LerpBackward1",
        (input, lambda g: sum_to(g * (1 - w), a), weight),
        (end, lambda g: sum_to(g * w, b), weight),
        (weight, lambda g: sum_to(g * (y - x), w.shape), input, end),
    )


def _between(x: Array, y: Array, w: Any) -> Any:
    """Counted from the nearer end, so that weight 1 yields exactly `end`."""

    def mixed() -> Any:
        step = y - x
        if not isinstance(w, np.ndarray):
            return x + w * step if abs(w) < 0.5 else y - step * (1 - w)
        return np.where(np.abs(w) < 0.5, x + w * step, y - step * (1 - w))

    try:
        return without_warnings(mixed).astype(x.dtype, copy=False)
    except ValueError:
        raise broadcast_error(x.shape, y.shape) from None


_addcmul_, _addcdiv_, _lerp_ = inplace(addcmul), inplace(addcdiv), inplace(lerp)


def addcmul_(input: T, tensor1: T, tensor2: T, *, value: Number = 1) -> T:
    """In-place version of :func:`addcmul`."""
    if input.array.dtype.char in "fd" and direct(input, tensor1) and direct(input, tensor2):
        return overwrite(np.add, input, _step(np.multiply, tensor1, tensor2, value))
    return _addcmul_(input, tensor1, tensor2, value=value)


def addcdiv_(input: T, tensor1: T, tensor2: T, *, value: Number = 1) -> T:
    """In-place version of :func:`addcdiv`."""
    if input.array.dtype.char in "fd" and direct(input, tensor1) and direct(input, tensor2):
        return overwrite(np.add, input, _step(np.divide, tensor1, tensor2, value))
    return _addcdiv_(input, tensor1, tensor2, value=value)


def _step(function: np.ufunc, tensor1: TensorBase, tensor2: TensorBase, value: Number) -> Array:
    out = compute(function, tensor1.array, tensor2.array)
    return out if value == 1 else without_warnings(np.multiply, out, value)


def lerp_(input: T, end: T, weight: T | Number) -> T:
    """In-place version of :func:`lerp`."""
    x = input.array
    if type(weight) is float and x.dtype.char in "fd" and direct(input, end):
        y = end.array
        if weight < 0.5:
            return overwrite(np.add, input, without_warnings(lambda: (y - x) * weight))
        return overwrite(lambda _, new, out: np.copyto(out, new), input, _between(x, y, weight))
    return _lerp_(input, end, weight)
