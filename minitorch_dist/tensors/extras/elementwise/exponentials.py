"""Exponentials, logarithms, and the functions made of them: those that are rarely used."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minitorch_dist.tensors import dtypes, return_types
from minitorch_dist.tensors.core.base import Array, Number, T
from minitorch_dist.tensors.core.graph import record, result
from minitorch_dist.tensors.core.operations import compute, mul, sum_to
from minitorch_dist.tensors.core.views import inplace
from minitorch_dist.tensors.core.without_warnings import without_warnings
from minitorch_dist.tensors.masks import only
from minitorch_dist.tensors.ops.elementwise.exponentials import (
    exp,
    expm1,
    log,
    log1p,
    logistic,
    sigmoid,
)
from minitorch_dist.tensors.promotion import floating, not_implemented, promote, real_floating

LN2, LN10 = math.log(2), math.log(10)


def exp2(input: T) -> T:
    """2 to the power of each element"""
    x = floating(input)
    out = without_warnings(np.exp2, x.array)
    return record(
        out, "Exp2Backward0", (x, lambda g: g * out * g.dtype.type(LN2)), reads_result=True
    )


def log2(input: T) -> T:
    """The logarithm to base 2"""
    x = floating(input)
    a = x.array
    return record(
        without_warnings(np.log2, a), "Log2Backward0", (x, lambda g: g / (a * a.dtype.type(LN2)), x)
    )


def log10(input: T) -> T:
    """The logarithm to base 10"""
    x = floating(input)
    a = x.array
    return record(
        without_warnings(np.log10, a),
        "Log10Backward0",
        (x, lambda g: g / (a * a.dtype.type(LN10)), x),
    )


def logaddexp2(input: T, other: T) -> T:
    """log2(2 ** input + 2 ** other), without overflow"""
    input, other = promote(input, other)
    x, y = input.array, other.array
    if x.dtype.kind in "iubc":
        raise not_implemented("logaddexp2_cpu", x)
    ln2 = x.dtype.type(LN2)
    return record(
        compute(_logaddexp2, x, y),
        "Logaddexp2Backward0",
        (input, lambda g: sum_to(g * logistic((x - y) * ln2), x.shape), input, other),
        (other, lambda g: sum_to(g * logistic((y - x) * ln2), y.shape), input, other),
    )


def _logaddexp2(x: Array, y: Array) -> Any:
    if x.dtype in dtypes.HALVES:
        return np.logaddexp2(x.astype(np.float32), y.astype(np.float32)).astype(x.dtype)
    return np.logaddexp2(x, y)


def ldexp(input: T, other: T) -> T:
    """input * 2 ** other"""
    return mul(input, exp2(other))


def frexp(input: T) -> Any:
    """A number in [0.5, 1) and an exponent for each element, mantissa * 2 ** exponent"""
    x = real_floating(input, "frexp")
    if input is not x:
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    mantissa, exponent = np.frexp(x.array)
    found = record(mantissa, "FrexpBackward0", (x, lambda g: np.ldexp(g, -exponent)))
    return return_types.frexp(found, result(x, exponent))


def logit(input: T, eps: float | None = None) -> T:
    """log(p / (1 - p)), where `eps` keeps p away from 0 and 1; the inverse of `sigmoid`"""
    x = real_floating(input, "logit_cpu")
    p = x.array

    def odds(p: Array) -> Any:
        if p.itemsize == 2:  # halves are rounded once
            return odds(p.astype(np.float32)).astype(p.dtype)
        if eps is not None:
            p = np.clip(p, p.dtype.type(eps), p.dtype.type(1 - eps))
        return np.log(p / (1 - p))

    def slope(g: Array) -> Any:
        each = g / (p * (1 - p) + 0)
        if eps is None:
            return np.where((p < 0) | (p > 1), p.dtype.type(np.nan), each)
        return only(each, ~((p < eps) | (p > 1 - eps)))

    return record(without_warnings(odds, p), "LogitBackward0", (x, slope, x))


def xlogy(input: T, other: T | Number) -> T:
    """input * log(other), and 0 where input is 0"""
    input, other = promote(input, other, floating=True)
    x, y = input.array, other.array
    if x.dtype.kind == "c":
        raise not_implemented("xlogy_cpu", x)
    return record(
        compute(_xlogy, x, y),
        "XlogyBackward0",
        (
            input,
            lambda g: sum_to(only(_xlogy(g, y), ~((x == 0) & (y <= 0))), x.shape),
            input,
            other,
        ),
        (other, lambda g: sum_to(g * x / y, y.shape), input, other),
    )


def _xlogy(x: Array, y: Array) -> Any:
    product = x * np.log(y)
    return np.where((x == 0) & ~np.isnan(y), x.dtype.type(0), product)


def xlog1py(input: T, other: T | Number) -> T:
    """input * log(1 + other), and 0 where input is 0"""
    input, other = promote(input, other, floating=True)
    x, y = input.array, other.array

    def value(x: Array, y: Array) -> Any:
        return np.where((x == 0) & ~np.isnan(y), x.dtype.type(0), x * np.log1p(y))

    return record(
        compute(value, x, y),
        "SpecialXlog1PyBackward0",
        (
            input,
            lambda g: sum_to(only(value(g, y), ~((x == 0) & (y <= -1))), x.shape),
            input,
            other,
        ),
        (other, lambda g: sum_to(g * x / (y + 1), y.shape), input, other),
    )


def entr(input: T) -> T:
    """-input * log(input): what each probability adds to the entropy"""
    x = floating(input)
    p = x.array

    def value(p: Array) -> Any:
        out = np.where(p == 0, p.dtype.type(0), -p * np.log(p))
        return np.where(p < 0, p.dtype.type(-np.inf), out)

    def slope(g: Array) -> Any:
        return np.where(p < 0, p.dtype.type(np.nan), g * (-np.log(p) - 1))

    return record(without_warnings(value, p), "SpecialEntrBackward0", (x, slope, x))


exp_ = inplace(exp)
exp2_ = inplace(exp2)
expm1_ = inplace(expm1)
log_ = inplace(log)
log2_ = inplace(log2)
log10_ = inplace(log10)
log1p_ = inplace(log1p)
sigmoid_, xlogy_ = inplace(sigmoid), inplace(xlogy)
logit_ = inplace(logit)
ldexp_ = inplace(ldexp)
