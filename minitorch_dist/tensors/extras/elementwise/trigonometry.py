"""Circular and hyperbolic functions and their inverses: those that are rarely used."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minitorch_dist.tensors.core.base import Array, T
from minitorch_dist.tensors.core.graph import record
from minitorch_dist.tensors.core.operations import compute, sum_to
from minitorch_dist.tensors.core.views import inplace
from minitorch_dist.tensors.core.without_warnings import without_warnings
from minitorch_dist.tensors.masks import only
from minitorch_dist.tensors.ops.elementwise.trigonometry import (
    acos,
    asin,
    atan,
    atan2,
    cos,
    sin,
    tanh,
)
from minitorch_dist.tensors.promotion import floating, not_implemented, promote


def tan(input: T) -> T:
    x = floating(input)
    out = without_warnings(np.tan, x.array)
    return record(out, "TanBackward0", (x, lambda g: g * (1 + out * out)), reads_result=True)


def sinh(input: T) -> T:
    x = floating(input)
    a = x.array
    return record(without_warnings(np.sinh, a), "SinhBackward0", (x, lambda g: g * np.cosh(a), x))


def cosh(input: T) -> T:
    x = floating(input)
    a = x.array
    return record(without_warnings(np.cosh, a), "CoshBackward0", (x, lambda g: g * np.sinh(a), x))


def asinh(input: T) -> T:
    x = floating(input)
    a = x.array
    return record(
        without_warnings(np.arcsinh, a), "AsinhBackward0", (x, lambda g: g / np.sqrt(a * a + 1), x)
    )


def acosh(input: T) -> T:
    x = floating(input)
    a = x.array
    return record(
        without_warnings(np.arccosh, a), "AcoshBackward0", (x, lambda g: g / _root_above_one(a), x)
    )


def _root_above_one(x: Array) -> Any:
    """√(x² - 1), on the branch of complex numbers that `acosh` takes"""
    return np.sqrt(x - 1) * np.sqrt(x + 1) if x.dtype.kind == "c" else np.sqrt(x * x - 1)


def atanh(input: T) -> T:
    x = floating(input)
    a = x.array
    return record(
        without_warnings(np.arctanh, a), "AtanhBackward0", (x, lambda g: g / (1 - a * a), x)
    )


def hypot(input: T, other: T) -> T:
    """sqrt(input² + other²), without overflow in between"""
    input, other = promote(input, other)
    x, y = input.array, other.array
    if x.dtype.kind in "iub":
        raise not_implemented("hypot_cpu", x)
    out = compute(np.hypot, x, y)
    return record(
        out,
        "HypotBackward0",
        (input, lambda g: sum_to(g * (x / out), x.shape), input),
        (other, lambda g: sum_to(g * (y / out), y.shape), other),
        reads_result=True,
    )


def deg2rad(input: T) -> T:
    """Degrees as radians"""
    return _scaled(input, math.pi / 180, "Deg2RadBackward0")


def rad2deg(input: T) -> T:
    """Radians as degrees"""
    return _scaled(input, 180 / math.pi, "Rad2DegBackward0")


def _scaled(input: T, factor: float, name: str) -> T:
    if input.array.dtype.kind == "c":
        raise RuntimeError(f"{name[:7].lower()} is not supported for complex tensors.")
    x = floating(input)
    c = x.array.dtype.type(factor)
    return record(without_warnings(np.multiply, x.array, c), name, (x, lambda g: g * c))


def sinc(input: T) -> T:
    """sin(pi x) / (pi x), and 1 at 0"""
    x = floating(input)
    a = x.array
    return record(
        without_warnings(_sinc, a), "SincBackward0", (x, lambda g: _sinc_gradient(g, a), x)
    )


def _sinc(x: Array) -> Any:
    if x.itemsize == 2:  # halves are rounded once
        return _sinc(x.astype(np.float32)).astype(x.dtype)
    t = x * x.dtype.type(math.pi)
    return np.where(x == 0, x.dtype.type(1), np.sin(t) / t)


def _sinc_gradient(g: Array, x: Array) -> Any:
    """It is 0 at 0, and where x is so small that its square is 0."""
    t = x * x.dtype.type(math.pi)
    square = t * x
    return only(g * ((np.cos(t) * t - np.sin(t)) / square), square != 0)


arcsinh, arccosh, arctanh = asinh, acosh, atanh
sin_ = inplace(sin)
cos_ = inplace(cos)
tan_ = inplace(tan)
asin_ = inplace(asin)
acos_ = inplace(acos)
atan_ = inplace(atan)
sinh_ = inplace(sinh)
cosh_ = inplace(cosh)
tanh_ = inplace(tanh)
asinh_ = inplace(asinh)
acosh_ = inplace(acosh)
atanh_ = inplace(atanh)
arcsin_, arccos_, arctan_ = asin_, acos_, atan_
arcsinh_, arccosh_, arctanh_ = asinh_, acosh_, atanh_
atan2_, hypot_ = inplace(atan2), inplace(hypot)
arctan2_ = atan2_
deg2rad_ = inplace(deg2rad)
rad2deg_ = inplace(rad2deg)
sinc_ = inplace(sinc)
