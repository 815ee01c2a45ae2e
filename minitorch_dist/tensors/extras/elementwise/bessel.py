"""The modified Bessel functions I₀ and I₁, also times exp(-|x|).

    Iₙ(x) exp(-|x|) = the mean of cos(nθ) exp(|x| (cos θ - 1)) over the circle

The mean of K points is exact to rounding while K² is large beside |x|, because the function is periodic. Above LARGE there is the
asymptotic series 1/√(2πx) · (1 - (4n² - 1)/(8x) + …).
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from minitorch_dist.tensors.core.base import Array, T
from minitorch_dist.tensors.core.graph import record
from minitorch_dist.tensors.core.views import inplace
from minitorch_dist.tensors.core.without_warnings import without_warnings
from minitorch_dist.tensors.promotion import real_floating

POINTS: Final = 64
LARGE: Final = 40.0
TERMS: Final = 16


def _scaled(n: int, x: Array) -> Any:
    """Iₙ(x) exp(-|x|), in float64"""
    size = np.abs(x.astype(np.float64))
    small = np.minimum(size, LARGE)
    out = np.zeros_like(size)
    for k in range(POINTS):
        angle = 2 * math.pi * k / POINTS
        out += math.cos(n * angle) / POINTS * np.exp(small * (math.cos(angle) - 1))
    large = np.maximum(size, LARGE)
    term = np.ones_like(size)
    series = term.copy()
    for k in range(1, TERMS):
        term = term * ((2 * k - 1) ** 2 - 4 * n * n) / (8 * k * large)
        series += term
    out = np.where(size > LARGE, series / np.sqrt(2 * math.pi * large), out)
    return np.where(np.isnan(size), np.nan, np.where(x < 0, (-1) ** n * out, out))


def _whole(n: int, x: Array) -> Any:
    """Iₙ(x), in float64"""
    return _scaled(n, x) * np.exp(np.abs(x.astype(np.float64)))


def _over(i1: Array, x: Array) -> Any:
    """I₁(x) / x, which is ½ (times exp(-|x|), if that stands before it) at 0."""
    return np.where(x == 0, 0.5, i1 / np.where(x == 0, 1, x))


def _offered(input: T, name: str, kernel: str, value: Any, slope: Any) -> T:
    x = real_floating(input, kernel)
    a = x.array
    return record(
        without_warnings(value, a).astype(a.dtype), name, (x, lambda g: (g * slope(a)).astype(a.dtype), x)
    )  # fmt: skip


def i0(input: T) -> T:
    """I₀, the even one, which is 1 at 0"""
    return _offered(
        input, "I0Backward0", "i0_vml_cpu", lambda x: _whole(0, x), lambda x: _whole(1, x)
    )


def i0e(input: T) -> T:
    """I₀(x) exp(-|x|)"""
    return _offered(
        input, "SpecialI0EBackward0", "i0e_cpu", lambda x: _scaled(0, x),
        lambda x: _scaled(1, x) - np.sign(x) * _scaled(0, x),
    )  # fmt: skip


def i1(input: T) -> T:
    """I₁, the derivative of I₀"""
    return _offered(
        input, "SpecialI1Backward0", "i1_cpu", lambda x: _whole(1, x),
        lambda x: _whole(0, x) - _over(_whole(1, x), x),
    )  # fmt: skip


def i1e(input: T) -> T:
    """I₁(x) exp(-|x|)"""
    return _offered(
        input, "SpecialI1EBackward0", "i1e_cpu", lambda x: _scaled(1, x),
        lambda x: _scaled(0, x) - _over(_scaled(1, x), x) - np.sign(x) * _scaled(1, x),
    )  # fmt: skip


i0_ = inplace(i0)
