"""The error function, and the normal distribution below a point. numpy has neither.

erf x  = 2/√π ∫₀ˣ e^(-t²) dt         Φ x = (1 + erf(x / √2)) / 2
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from minitorch_dist.tensors.core.base import Array
from minitorch_dist.tensors.portable_math import polynomial
from minitorch_dist.tensors.shape_arrays.array import has_numbers

BLOCK = 1 << 15  # elements at a time, so that a polynomial's steps meet their data in the cache

# (1 + tanh(x · P(x²))) / 2 is the normal distribution to 3e-8, as numpy's tanh is quick. P grows for ever, so tanh ends at ±1.
CDF = (
    0.7978849415,
    3.633308445e-02,
    -3.259481855e-05,
    -5.530626897e-05,
    3.964759962e-06,
    -1.322647190e-07,
    1.756213197e-09,
)


def each_number(function: Callable[[float], float], x: Array) -> Array:
    """A function of `math` of each element, in float64."""
    return np.asanyarray(np.frompyfunc(function, 1, 1)(x.astype(np.float64))).astype(np.float64)


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


def normal_cdf(x: Array) -> Array:
    """The part of the normal distribution below x"""
    return in_blocks(normal_cdf_of_block, x)


def normal_cdf_of_block(x: Array) -> Array:
    """The same of one block, for functions that go on with it while it is in the cache"""
    if x.dtype == np.float64:
        return each_number(math.erfc, x * -math.sqrt(0.5)) * 0.5
    out = polynomial(x * x, CDF)
    out *= x
    np.tanh(out, out=out)
    out += 1
    out *= 0.5
    return out
