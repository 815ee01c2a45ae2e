"""Signs, magnitudes and roundings: functions whose slope is constant between their steps: those that are rarely used."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch_dist.tensors.core.base import Array, Number, T
from minitorch_dist.tensors.core.graph import record, result
from minitorch_dist.tensors.core.operations import compute, sum_to
from minitorch_dist.tensors.core.views import inplace
from minitorch_dist.tensors.core.without_warnings import without_warnings
from minitorch_dist.tensors.limits import finfo
from minitorch_dist.tensors.ops.elementwise.rounding import (
    abs,
    ceil,
    floor,
    round,
    sgn,
    sign,
    trunc,
)
from minitorch_dist.tensors.promotion import not_implemented, one_number, promote


def frac(input: T) -> T:
    """The part that `trunc` cuts off, with the sign of the elements"""
    x = input.array
    if x.dtype.kind in "iubc":
        raise not_implemented("frac_cpu", x)
    return record(
        without_warnings(lambda x: x - np.trunc(x), x), "FracBackward0", (input, lambda g: g)
    )


def signbit(input: T) -> T:
    """Whether the sign is negative, that of -0.0 included"""
    x = input.array
    if x.dtype.kind == "c":
        raise NotImplementedError("signbit is not implemented for complex tensors.")
    return result(input, x < 0 if x.dtype.kind in "iub" else np.signbit(x))


def copysign(input: T, other: T | Number) -> T:
    """The magnitude of `input` with the sign of `other`"""
    input, other = promote(input, other, floating=True)
    x, y = input.array, other.array
    out = compute(np.copysign, x, y)
    shape = y.shape

    def slope(g: Array) -> Array:
        return sum_to(g * np.where(x == 0, x.dtype.type(0), out / x), x.shape)

    return record(
        out,
        "CopysignBackward0",
        (input, slope, input),
        (other, lambda g: np.zeros(shape, g.dtype, like=g)),
        reads_result=True,
    )


def nextafter(input: T, other: T) -> T:
    """The number next to `input` on the way to `other`"""
    input, other = promote(input, other)
    x, y = input.array, other.array
    if x.dtype.kind in "iub":
        raise not_implemented("nextafter_cpu", x)

    def no_derivative(grad: Array) -> Any:
        raise RuntimeError("derivative for aten::nextafter is not implemented")

    out = compute(np.nextafter, x, y)
    return record(out, "NextafterBackward0", (input, no_derivative), (other, no_derivative))


def nan_to_num(
    input: T,
    nan: float | None = None,
    posinf: float | None = None,
    neginf: float | None = None,
) -> T:
    """`nan` (0) in place of nan, and the largest finite numbers in place of the infinities"""
    x = input.array
    if x.dtype.kind in "iubc":
        if x.dtype.kind == "c":
            raise NotImplementedError("nan_to_num is not offered for complex tensors")
        return result(input, x.copy())
    for name, number in (("nan", nan), ("posinf", posinf), ("neginf", neginf)):
        one_number("nan_to_num", name, number)
    limits = finfo(input.dtype)
    out = x.copy()
    out[np.isnan(x)] = 0.0 if nan is None else nan
    out[x == np.inf] = limits.max if posinf is None else posinf
    out[x == -np.inf] = limits.min if neginf is None else neginf
    return record(out, "NanToNumBackward0", (input, lambda g: g * np.isfinite(x), input))


fix = trunc
floor_ = inplace(floor)
ceil_ = inplace(ceil)
trunc_ = inplace(trunc)
round_ = inplace(round)
frac_ = inplace(frac)
abs_ = inplace(abs)
sign_ = inplace(sign)
sgn_ = inplace(sgn)
copysign_ = inplace(copysign)
absolute_, fix_ = abs_, trunc_
nan_to_num_ = inplace(nan_to_num)
nextafter_ = inplace(nextafter)
