"""log Γ and its derivatives.

The derivatives have an asymptotic series that is exact for large x, so x is moved up by steps of
one with the recurrence ψ(x) = ψ(x + 1) - 1/x; negative x are reflected first.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minitorch_dist.tensors.core.base import Array, T
from minitorch_dist.tensors.core.graph import record
from minitorch_dist.tensors.core.views import inplace
from minitorch_dist.tensors.core.without_warnings import without_warnings
from minitorch_dist.tensors.promotion import real_floating

STEPS = 10  # from x > 0 to x > 10, where eight terms of the series are exact
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)


def lgamma_values(x: Array) -> Any:
    def one(x: float) -> float:
        if math.isinf(x) or (x <= 0 and x == math.floor(x)):
            return math.inf
        return math.lgamma(x) if x < 1e305 else x * (math.log(x) - 1)

    wide = np.frompyfunc(one, 1, 1)(x.astype(np.float64))
    return np.asanyarray(wide).astype(np.float64).astype(x.dtype)


def digamma_values(x: Array) -> Any:
    """ψ, the derivative of log Γ, in the type of x"""
    wide = x.astype(np.float64)
    y = np.where(wide < 0, 1 - wide, wide)  # ψ(1 - x) - ψ(x) = π / tan(πx)
    out = np.where(wide < 0, -math.pi / np.tan(math.pi * np.fmod(wide, 1)), 0.0)
    for _ in range(STEPS):
        out = out - 1 / y
        y = y + 1
    out += np.log(y) - 0.5 / y
    for n, b in enumerate(BERNOULLI, start=1):
        out -= b / (2 * n * y ** (2 * n))
    out = np.where((wide < 0) & (wide == np.floor(wide)), np.nan, out)
    out = np.where(wide == 0, np.copysign(np.inf, -wide), out)
    return np.where(wide == np.inf, np.inf, out).astype(x.dtype)


def trigamma_values(x: Array) -> Any:
    """ψ', the derivative of digamma, in the type of x"""
    wide = x.astype(np.float64)
    low = wide < 0.5  # ψ'(1 - x) + ψ'(x) = (π / sin πx)²
    y = np.where(low, 1 - wide, wide)
    total = np.zeros_like(y)
    for _ in range(STEPS):
        total = total + 1 / (y * y)
        y = y + 1
    total += 1 / y + 0.5 / (y * y)
    for n, b in enumerate(BERNOULLI, start=1):
        total += b / y ** (2 * n + 1)
    mirrored = (math.pi / np.sin(math.pi * wide)) ** 2 - total
    return np.where(low, mirrored, total).astype(x.dtype)


def lgamma(input: T) -> T:
    """log |Γ(input)|"""
    x = real_floating(input, "lgamma_vml_cpu")
    a = x.array
    return record(
        without_warnings(lgamma_values, a),
        "LgammaBackward0",
        (x, lambda g: g * digamma_values(a), x),
    )


def digamma(input: T) -> T:
    """The derivative of `lgamma`"""
    x = real_floating(input, "digamma")
    a = x.array
    return record(
        without_warnings(digamma_values, a),
        "DigammaBackward0",
        (x, lambda g: g * trigamma_values(a), x),
    )


def mvlgamma(input: T, p: int) -> T:
    """The logarithm of the gamma function of matrices p by p: log Γ(x - j/2) for j from 0 to p - 1, and p (p - 1)/4 log π"""
    x: Any = real_floating(input, "mvlgamma_cpu")
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    total = sum((lgamma(x - j / 2) for j in range(1, p)), lgamma(x))
    return total + p * (p - 1) / 4 * math.log(math.pi)  # type: ignore[no-any-return]


lgamma_ = inplace(lgamma)
digamma_ = inplace(digamma)
mvlgamma_ = inplace(mvlgamma)
