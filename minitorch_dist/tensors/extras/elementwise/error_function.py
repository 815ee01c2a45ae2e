"""The error function and its kin. numpy has none of them: those that are rarely used."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.core.base import Array, T
from minitorch_dist.tensors.core.graph import record
from minitorch_dist.tensors.core.views import inplace
from minitorch_dist.tensors.core.without_warnings import without_warnings
from minitorch_dist.tensors.ops.elementwise.error_function import (
    K,
    bell,
    erf,
    erfc_values,
    erfinv,
    erfinv_values,
    fitted,
    in_blocks,
    normal_cdf,
    polynomial,
)
from minitorch_dist.tensors.promotion import not_implemented, real_floating


def erfc(input: T) -> T:
    """1 - erf(input), exact where that is tiny"""
    x = real_floating(input, "erfc_vml_cpu")
    a = x.array
    return record(without_warnings(erfc_values, a), "ErfcBackward0", (x, lambda g: -g * bell(a), x))


def ndtr(input: T) -> T:
    """The part of the normal distribution below each element"""
    x = real_floating(input, "ndtr_vml_cpu")
    a = x.array

    def slope(g: Array) -> Any:
        return g * np.exp(a * a / -2) * a.dtype.type(1 / math.sqrt(2 * math.pi))

    return record(without_warnings(normal_cdf, a), "SpecialNdtrBackward0", (x, slope, x))


def ndtri(input: T) -> T:
    """The inverse of `ndtr`, for elements from 0 to 1"""
    x = real_floating(input, "ndtri_vml_cpu")
    if x.array.dtype in dtypes.HALVES:
        raise not_implemented("ndtri_cpu", x.array)
    p = x.array.astype(np.float64)
    out = without_warnings(lambda p: erfinv_values(2 * p - 1) * math.sqrt(2), p).astype(
        x.array.dtype
    )

    def slope(g: Array) -> Any:
        return g * np.exp(out * out / 2) * out.dtype.type(math.sqrt(2 * math.pi))

    return record(out, "SpecialNdtriBackward0", (x, slope), reads_result=True)


def erfcx(input: T) -> T:
    """exp(input²) * erfc(input), which falls slowly where both factors explode"""
    x = real_floating(input, "erfcx_vml_cpu")
    out = without_warnings(erfcx_values, x.array)
    a = x.array
    slope = 2 / math.sqrt(math.pi)
    return record(
        out,
        "SpecialErfcxBackward0",
        (x, lambda g: g * (2 * a * out - a.dtype.type(slope)), x),
        reads_result=True,
    )


def erfcx_values(x: Array) -> Array:
    def block(x: Array) -> Any:
        x = x.astype(np.float64)
        size = np.abs(x)
        t = np.where(np.isinf(x), 1, (size - K) / (size + K))
        out = polynomial(fitted(24), t) / (1 + 2 * size)
        return np.where(x < 0, 2 * np.exp(x * x) - out, out)

    return in_blocks(block, x)


def log_ndtr(input: T) -> T:
    """log(ndtr(input)), exact where that is tiny"""
    x = real_floating(input, "log_ndtr_vml_cpu")
    a = x.array

    def value(x: Array) -> Any:
        t = x.astype(np.float64) * math.sqrt(0.5)
        low = np.log(erfcx_values(-t) / 2) - t * t
        high = np.log1p(-erfc_values(t) / 2)
        return np.where(t < -1, low, high).astype(x.dtype)

    def slope(g: Array) -> Any:
        t = a.astype(np.float64) * -math.sqrt(0.5)
        return g * (math.sqrt(2 / math.pi) / erfcx_values(t)).astype(a.dtype)

    return record(without_warnings(value, a), "SpecialLogNdtrBackward0", (x, slope, x))


erf_ = inplace(erf)
erfc_ = inplace(erfc)
erfinv_ = inplace(erfinv)
