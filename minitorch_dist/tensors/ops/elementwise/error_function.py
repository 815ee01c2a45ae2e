"""The error function and its kin. numpy has none of them.

    erf x  = 2/√π ∫₀ˣ e^(-t²) dt         erfc x = 1 - erf x

Near 0, erf is its Taylor series. Elsewhere both come from erfc. The factors of erfc that vary wildly
are split off. The rest is so smooth that one polynomial of degree 24 has it to the last digit from 0
to infinity:

    erfc x = e^(-x²) / (1 + 2x) · P(t),    t = (x - k) / (x + k)

after M. Shepherd, J. Laframboise, Chebyshev approximation of (1 + 2x) exp(x²) erfc x in
0 ≤ x < ∞, Math. Comp. 36 (1981). P is fitted here, on first use, to a few exact values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from minitorch_dist.tensors.core.base import Array, T
from minitorch_dist.tensors.core.graph import record
from minitorch_dist.tensors.core.without_warnings import without_warnings
from minitorch_dist.tensors.promotion import real_floating
from minitorch_dist.tensors.shape_arrays.array import has_numbers

K = 3.75  # where t changes its sign
BLOCK = 1 << 15  # elements at a time, so that a polynomial's steps meet their data in the cache

# Fitted on [-4, 4] to a relative error of 3e-8, highest power first
NUMERATOR = (1.98896279e-06, 2.840922223e-04, 3.865223314e-03, 5.304480351e-02, 0.1931321926,
             1.128379142)  # fmt: skip
DENOMINATOR = (3.741824182e-05, 1.181071039e-03, 1.5170719e-02, 0.1151772905, 0.504491576, 1.0)

# (1 + tanh(x · P(x²))) / 2 is the normal distribution to 3e-8, as numpy's tanh is quick. P grows for ever, so tanh ends at ±1.
CDF = (1.756213197e-09, -1.322647190e-07, 3.964759962e-06, -5.530626897e-05, -3.259481855e-05,
       3.633308445e-02, 0.7978849415)  # fmt: skip


def scaled_erfc(x: float) -> float:
    """exp(x²) erfc(x) of one number x >= 0, by the continued fraction where erfc itself is tiny."""
    if x < 2:
        return math.exp(x * x) * math.erfc(x)
    fraction = 0.0
    for k in range(120, 0, -1):
        fraction = k / 2 / (x + fraction)
    return 1 / (math.sqrt(math.pi) * (x + fraction))


@cache
def fitted(degree: int) -> tuple[float, ...]:
    """The coefficients of P, highest power first."""
    from numpy.polynomial import chebyshev

    def p(t: float) -> float:
        x = K * (1 + t) / (1 - t)
        return (1 + 2 * x) * scaled_erfc(x)

    series = chebyshev.chebinterpolate(np.vectorize(p), 60)[: degree + 1]
    return tuple(chebyshev.cheb2poly(series)[::-1].tolist())


@cache
def taylor(terms: int) -> tuple[float, ...]:
    """The coefficients of erf(x) / x as a polynomial in x², highest power first."""
    return tuple(
        2 / math.sqrt(math.pi) * (-1) ** n / (math.factorial(n) * (2 * n + 1))
        for n in reversed(range(terms))
    )


def polynomial(coefficients: Sequence[float], x: Array) -> Array:
    """Horner's scheme, in one array"""
    first, second, *rest = coefficients
    out: Array = x * x.dtype.type(first)
    out += second
    for c in rest:
        out *= x
        out += c
    return out


def in_blocks(function: Callable[[Array], Any], x: Array) -> Array:
    """function(x), a block at a time; halves compute in float32."""
    flat = x.reshape(-1)
    out = np.empty(flat.shape, x.dtype, like=flat)
    if not has_numbers(out):
        return out.reshape(x.shape)
    wide = np.float64 if x.dtype == np.float64 else np.float32
    for start in range(0, flat.size, BLOCK):
        part = slice(start, start + BLOCK)
        out[part] = function(flat[part].astype(wide, copy=False))
    return out.reshape(x.shape)


def squared_exponential(x: Array) -> Array:
    """exp(-x²), exact to the last digits: x splits into z + rest such that z² needs no rounding."""
    if x.dtype == np.float64:
        z = (x.view(np.int64) & ~0xFFFFFFFF).view(np.float64)
    else:
        z = (x.view(np.int32) & ~0xFFF).view(np.float32)
    out = np.exp((z - x) * (z + x))
    out *= np.exp(-z * z)
    return out


def erfc_above_0(x: Array) -> Array:
    """erfc for x >= 0"""
    degree, end = (24, 27.3) if x.dtype == np.float64 else (11, 10.1)
    x = np.minimum(x, end)  # where it has long become 0
    out = polynomial(fitted(degree), (x - K) / (x + K))
    out *= squared_exponential(x)
    out /= 1 + 2 * x
    return out


def erf_values(x: Array) -> Array:
    """erf of an array, in its type"""
    return in_blocks(erf_double if x.dtype == np.float64 else erf_single, x)


def erf_double(x: Array) -> Any:
    size = np.abs(x)
    out = np.copysign(1 - erfc_above_0(size), x)
    near = size < 1
    small = x[near]
    out[near] = small * polynomial(taylor(20), small * small)
    return out


def erf_single(x: Array) -> Array:
    """For the seven digits of float32, erf(x) / x is a quotient of polynomials in x²."""
    square = x * x
    far = not square.max(initial=0) <= 9  # so far out rounding may lead beyond 1
    if far:
        x = np.clip(x, -4, 4)
        square = x * x
    out = polynomial(NUMERATOR, square)
    out *= x
    out /= polynomial(DENOMINATOR, square)
    return np.clip(out, -1, 1, out=out) if far else out


def erfc_values(x: Array) -> Array:
    """erfc of an array, in its type"""
    return in_blocks(_erfc, x)


def _erfc(x: Array) -> Array:
    out = erfc_above_0(np.abs(x))
    np.subtract(2, out, out=out, where=x < 0)
    return out


def erfinv_values(x: Array) -> Array:
    """The y with erf(y) = x: a guess that is good to two digits, then Halley's steps.

    Winitzki's guess solves an approximation of erf. Each step triples the digits; near ±1 it
    looks at 1 - |x| and erfc, which do not lose them.
    """

    def block(x: Array) -> Any:
        size = np.abs(x).astype(np.float64)
        log = np.log1p(-size * size)
        a = 2 / (math.pi * 0.147) + log / 2
        y = np.sqrt(np.sqrt(a * a - log / 0.147) - a)
        for _ in range(3):
            near = size < 0.5
            error = np.where(near, erf_values(y) - size, (1 - size) - erfc_values(y))
            step = error / (2 / math.sqrt(math.pi) * np.exp(-y * y))
            y = y - step / (1 + y * step)
        y[size == 1] = np.inf
        y[size > 1] = np.nan
        return np.copysign(y.astype(x.dtype), x)

    return in_blocks(block, x)


def bell(x: Array) -> Any:
    """The derivative of erf"""
    return np.exp(-x * x) * x.dtype.type(2 / math.sqrt(math.pi))


def erf(input: T) -> T:
    """The error function"""
    x = real_floating(input, "erf_vml_cpu")
    a = x.array
    return record(without_warnings(erf_values, a), "ErfBackward0", (x, lambda g: g * bell(a), x))


def erfinv(input: T) -> T:
    """The inverse of `erf`, for elements from -1 to 1"""
    x = real_floating(input, "erfinv_vml_cpu")
    out = without_warnings(erfinv_values, x.array)
    return record(out, "ErfinvBackward0", (x, lambda g: g / bell(out)), reads_result=True)


def normal_cdf(x: Array) -> Array:
    """The part of the normal distribution below x: (1 + erf(x / √2)) / 2"""
    return in_blocks(normal_cdf_of_block, x)


def normal_cdf_of_block(x: Array) -> Array:
    """The same of one block, for functions that go on with it while it is in the cache"""
    if x.dtype == np.float64:
        return _erfc(x * -math.sqrt(0.5)) * 0.5
    out = polynomial(CDF, x * x)
    out *= x
    np.tanh(out, out=out)
    out += 1
    out *= 0.5
    return out
