"""Element-wise functions that networks put between their layers.

Each has an in-place form, under the name with `_` or with `inplace=True`. Halves compute in
float32 and round once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.core.base import Array, T
from minitorch_dist.tensors.core.graph import record
from minitorch_dist.tensors.core.views import inplace as in_place
from minitorch_dist.tensors.core.without_warnings import without_warnings
from minitorch_dist.tensors.ops.elementwise.error_function import in_blocks, normal_cdf, normal_cdf_of_block
from minitorch_dist.tensors.ops.elementwise.smooth import logistic
from minitorch_dist.tensors.promotion import not_implemented

Function = Callable[[Array], Any]


def pointwise(input: T, name: str, kernel: str, function: Function, slope: Function) -> T:
    """function(input), whose derivative is `slope`."""
    x = input.array
    if x.dtype.kind in "iubc":
        raise not_implemented(kernel, x)
    if x.dtype not in dtypes.HALVES:
        return record(without_warnings(function, x), name, (input, lambda g: g * slope(x), input))

    def in_float32(function: Function, x: Array) -> Any:
        return np.asanyarray(function(x.astype(np.float32))).astype(x.dtype)

    def vjp(g: Array) -> Any:
        return np.asanyarray(g.astype(np.float32) * slope(x.astype(np.float32))).astype(g.dtype)

    return record(without_warnings(in_float32, function, x), name, (input, vjp, input))


def elu(input: T, alpha: float = 1.0, inplace: bool = False) -> T:
    """`input` where it is positive, alpha * (exp(input) - 1) elsewhere"""
    if inplace:
        return elu_(input, alpha)
    alpha = 1.0 * alpha  # an error unless it is a number
    return pointwise(
        input,
        "EluBackward0",
        "elu_cpu",
        lambda x: np.where(x <= 0, np.expm1(x) * alpha, x),
        lambda x: np.where(x <= 0, np.exp(x) * alpha, x.dtype.type(1)),
    )


def silu(input: T, inplace: bool = False) -> T:
    """input * sigmoid(input)"""
    if inplace:
        return silu_(input)
    return pointwise(input, "SiluBackward0", "silu_cpu", _silu, _silu_slope)


def _silu(x: Array) -> Array:
    out = logistic(x)
    out *= x
    return out


def _silu_slope(x: Array) -> Any:
    s = logistic(x)
    return s * (1 + x * (1 - s))


def gelu(input: T, approximate: str = "none") -> T:
    """`input` times the part of the normal distribution below it"""
    if approximate == "tanh":
        return pointwise(input, "GeluBackward0", "GeluKernelImpl", _gelu_tanh, _gelu_tanh_slope)
    if approximate != "none":
        raise RuntimeError("approximate argument must be either none or tanh.")
    return pointwise(input, "GeluBackward0", "GeluKernelImpl", _gelu, _gelu_slope)


def _gelu(x: Array) -> Array:
    return in_blocks(lambda x: x * normal_cdf_of_block(x), x)


def _gelu_slope(x: Array) -> Any:
    density = np.exp(x * x * -0.5) * x.dtype.type(1 / math.sqrt(2 * math.pi))
    return normal_cdf(x) + x * density


_ROOT, _CUBE = math.sqrt(2 / math.pi), 0.044715


def _gelu_tanh(x: Array) -> Any:
    return 0.5 * x * (1 + np.tanh(_ROOT * (x + _CUBE * (x * x * x))))


def _gelu_tanh_slope(x: Array) -> Any:
    t = np.tanh(_ROOT * (x + _CUBE * (x * x * x)))
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * (_ROOT * (1 + 3 * _CUBE * (x * x)))


def softplus(input: T, beta: float = 1.0, threshold: float = 20.0) -> T:
    """log(1 + exp(beta * input)) / beta, and `input` itself beyond `threshold`"""

    def value(x: Array) -> Array:
        return np.where(x * beta > threshold, x, np.log1p(np.exp(x * beta)) / beta)

    def slope(x: Array) -> Any:
        z = np.exp(x * beta)
        return np.where(x * beta > threshold, x.dtype.type(1), z / (z + 1))

    return pointwise(input, "SoftplusBackward0", "softplus_cpu", value, slope)


def logsigmoid(input: T) -> T:
    """log(sigmoid(input)), without overflow"""
    return pointwise(
        input,
        "LogSigmoidBackward0",
        "log_sigmoid_cpu",
        lambda x: np.minimum(x, 0) - np.log1p(np.exp(-np.abs(x))),
        _logsigmoid_slope,
    )


def _logsigmoid_slope(x: Array) -> Any:
    """sigmoid(-x), whose exponential does not overflow, so that it reaches 0 where numbers end"""
    z = np.exp(-np.abs(x))
    return np.where(x < 0, x.dtype.type(1), z) / (1 + z)


elu_ = in_place(elu)
silu_ = in_place(silu)
