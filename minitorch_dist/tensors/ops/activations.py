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
from minitorch_dist.tensors.base import Array, T
from minitorch_dist.tensors.graph import record
from minitorch_dist.tensors.ops.arithmetic import (
    as_element,
    bool_error,
    floating,
    not_implemented,
    sum_to,
)
from minitorch_dist.tensors.ops.error_function import normal_cdf
from minitorch_dist.tensors.ops.exponentials import logistic
from minitorch_dist.tensors.ops.extremes import clamp
from minitorch_dist.tensors.ops.reductions import axis
from minitorch_dist.tensors.quiet import quiet
from minitorch_dist.tensors.views import bump, check_writable, rebase
from minitorch_dist.tensors.views import inplace as in_place

Function = Callable[[Array], Any]


def pointwise(input: T, name: str, kernel: str, function: Function, slope: Function) -> T:
    """function(input), whose derivative is `slope`."""
    x = input.array
    if x.dtype.kind in "iub":
        raise not_implemented(kernel, x)
    if x.dtype not in dtypes.HALVES:
        return record(quiet(function, x), name, (input, lambda g: g * slope(x), input))

    def in_float32(function: Function, x: Array) -> Any:
        return np.asarray(function(x.astype(np.float32))).astype(x.dtype)

    def vjp(g: Array) -> Any:
        return (g.astype(np.float32) * slope(x.astype(np.float32))).astype(g.dtype)

    return record(quiet(in_float32, function, x), name, (input, vjp, input))


# -------------------------------------------------------------------------- made of straight lines


def relu(input: T, inplace: bool = False) -> T:
    """max(input, 0)"""
    if inplace:
        return relu_(input)
    x = input.array
    if x.dtype.kind == "b":
        raise RuntimeError("Boolean inputs not supported for relu")
    out = np.maximum(x, 0)  # (times a mask: np.where is 15 times slower on masks without a pattern)
    return record(out, "ReluBackward0", (input, lambda g: g * (out != 0)), reads_result=True)


def relu_(input: T) -> T:
    """In-place relu. It keeps its result and not its input, so the input's memory is reused."""
    check_writable(input)
    x = input.array
    if x.dtype.kind == "b":
        raise RuntimeError("Boolean inputs not supported for relu")
    np.maximum(x, 0, out=x)
    bump(input)
    if input._requires_grad:
        out = record(x, "ReluBackward0", (input, lambda g: g * (x != 0), input))
        if out._grad_fn is not None:
            rebase(input, (out._grad_fn, 0))
    return input


def hardtanh(input: T, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> T:
    """`input` between `min_val` and `max_val`"""
    if inplace:
        return hardtanh_(input, min_val, max_val)
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    kind = input.array.dtype.kind
    if kind == "b":
        raise RuntimeError("Bool inputs not supported for hardtanh")
    if kind in "iu":
        low, high = int(min_val), int(max_val)
        if kind == "u" and low < 0:
            raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
        return clamp(input, low, high)
    return pointwise(
        input,
        "HardtanhBackward0",
        "hardtanh",
        lambda x: np.clip(x, x.dtype.type(min_val), x.dtype.type(max_val)),
        lambda x: ~((x <= min_val) | (x >= max_val)),
    )


def relu6(input: T, inplace: bool = False) -> T:
    """`input` between 0 and 6"""
    return hardtanh(input, 0.0, 6.0, inplace)


def leaky_relu(input: T, negative_slope: float = 0.01, inplace: bool = False) -> T:
    """`input` where it is positive, `negative_slope * input` elsewhere"""
    if inplace:
        return leaky_relu_(input, negative_slope)
    return pointwise(
        input,
        "LeakyReluBackward0",
        "leaky_relu_cpu",
        lambda x: np.where(x > 0, x, x * negative_slope),
        lambda x: np.where(x > 0, x.dtype.type(1), x.dtype.type(negative_slope)),
    )


def threshold(input: T, threshold: float, value: float, inplace: bool = False) -> T:
    """`input` where it is above `threshold`, `value` elsewhere"""
    if inplace:
        return threshold_(input, threshold, value)
    x = input.array
    if x.dtype.kind == "b":
        raise not_implemented("threshold_cpu", x)
    low, instead = (as_element(v, input.dtype) for v in (threshold, value))
    out = np.where(x <= low, instead, x)
    return record(out, "ThresholdBackward0", (input, lambda g: g * ~(x <= threshold), input))


def prelu(input: T, weight: T) -> T:
    """Leaky relu with a learned slope: one, or one for each channel (dimension 1)"""
    x, w = input.array, weight.array
    if x.dtype.kind in "iub":
        raise not_implemented("prelu_cpu", x)
    if w.ndim > 1:
        raise RuntimeError(
            f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {w.ndim}"
        )
    if x.dtype != w.dtype:
        raise RuntimeError(
            f"prelu: Type promoting not supported. Got {input.dtype} and {weight.dtype}"
        )
    channels = x.shape[1] if x.ndim > 1 else 1
    if w.size != 1 and w.size != channels:
        raise RuntimeError(
            "Mismatch of parameter numbers and input channel size. Found parameter numbers = "
            f"{w.size} and channel size = {channels}."
        )
    shape = (w.size, *(1,) * (x.ndim - 2)) if w.size != 1 else (1,) * x.ndim
    slope = w.reshape(shape)
    return record(
        np.where(x > 0, x, slope * x),
        "PreluKernelBackward0",
        (input, lambda g: np.where(x > 0, g, slope * g), input, weight),
        (
            weight,
            lambda g: sum_to(np.where(x > 0, x.dtype.type(0), x * g), shape).reshape(w.shape),
            input,
        ),
    )


def hardsigmoid(input: T, inplace: bool = False) -> T:
    """input / 6 + 1/2, between 0 and 1"""
    if inplace:
        return hardsigmoid_(input)
    return pointwise(
        input,
        "HardsigmoidBackward0",
        "hardsigmoid_cpu",
        lambda x: np.clip(x + 3, 0, 6) / 6,
        lambda x: ((x > -3) & (x < 3)) / x.dtype.type(6),
    )


def hardswish(input: T, inplace: bool = False) -> T:
    """input * hardsigmoid(input)"""
    if inplace:
        return hardswish_(input)
    return pointwise(
        input,
        "HardswishBackward0",
        "hardswish_cpu",
        lambda x: x * np.clip(x + 3, 0, 6) / 6,
        lambda x: np.where(x <= -3, x.dtype.type(0), np.where(x < 3, x / 3 + 0.5, 1)).astype(
            x.dtype
        ),
    )


def hardshrink(input: T, lambd: float = 0.5) -> T:
    """`input`, but 0 where it is within `lambd` of 0"""
    return pointwise(
        input,
        "HardshrinkBackward0",
        "hardshrink_cpu",
        lambda x: np.where((x >= -lambd) & (x <= lambd), x.dtype.type(0), x),
        lambda x: ~((x >= -lambd) & (x <= lambd)),
    )


def softshrink(input: T, lambd: float = 0.5) -> T:
    """`input` moved by `lambd` towards 0, and 0 where that would cross it"""
    if lambd < 0 and input.array.dtype.kind not in "iub":
        raise RuntimeError(f"lambda must be greater or equal to 0, but found to be {lambd}.")
    return pointwise(
        input,
        "SoftshrinkBackward0",
        "softshrink_cpu",
        lambda x: np.where(np.abs(x) <= lambd, x * 0, x - np.copysign(x.dtype.type(lambd), x)),
        lambda x: ~(np.abs(x) <= lambd),
    )


# ------------------------------------------------------------------------------------------ smooth


def elu(input: T, alpha: float = 1.0, inplace: bool = False) -> T:
    """`input` where it is positive, alpha * (exp(input) - 1) elsewhere"""
    if inplace:
        return elu_(input, alpha)
    return _elu(input, alpha, 1.0, 1.0, "EluBackward0")


def _elu(input: T, alpha: float, scale: float, inner: float, name: str) -> T:
    return pointwise(
        input,
        name,
        "elu_cpu",
        lambda x: np.where(x <= 0, np.expm1(x * inner) * (alpha * scale), x * scale),
        lambda x: np.where(
            x <= 0, np.exp(x * inner) * (alpha * scale * inner), x.dtype.type(scale)
        ),
    )


SELU_ALPHA = 1.6732632423543772848170429916717
SELU_SCALE = 1.0507009873554804934193349852946


def selu(input: T, inplace: bool = False) -> T:
    """elu with the constants that keep mean 0 and variance 1"""
    if inplace:
        return selu_(input)
    return _elu(input, SELU_ALPHA, SELU_SCALE, 1.0, "EluBackward0")


def celu(input: T, alpha: float = 1.0, inplace: bool = False) -> T:
    """max(0, input) + min(0, alpha * (exp(input / alpha) - 1)): elu with a continuous slope"""
    if inplace:
        return celu_(input, alpha)
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return _elu(input, alpha, 1.0, 1 / alpha, "CeluBackward0")


def silu(input: T, inplace: bool = False) -> T:
    """input * sigmoid(input)"""
    if inplace:
        return silu_(input)
    return pointwise(input, "SiluBackward0", "silu_cpu", _silu, _silu_slope)


def _silu(x: Array) -> Any:
    return x / (1 + np.exp(-x))


def _silu_slope(x: Array) -> Any:
    s = logistic(x)
    return s * (1 + x * (1 - s))


def mish(input: T, inplace: bool = False) -> T:
    """input * tanh(softplus(input))"""
    if inplace:
        return mish_(input)
    return pointwise(input, "MishBackward0", "mish_cpu", _mish, _mish_slope)


def _mish(x: Array) -> Any:
    return x * np.tanh(np.logaddexp(x, x.dtype.type(0)))


def _mish_slope(x: Array) -> Any:
    t = np.tanh(np.logaddexp(x, x.dtype.type(0)))
    return t + x * logistic(x) * (1 - t * t)


def gelu(input: T, approximate: str = "none") -> T:
    """`input` times the part of the normal distribution below it"""
    if approximate == "tanh":
        return pointwise(input, "GeluBackward0", "GeluKernelImpl", _gelu_tanh, _gelu_tanh_slope)
    if approximate != "none":
        raise RuntimeError("approximate argument must be either none or tanh.")
    return pointwise(input, "GeluBackward0", "GeluKernelImpl", _gelu, _gelu_slope)


def _gelu(x: Array) -> Any:
    return x * normal_cdf(x)


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

    def value(x: Array) -> Any:
        return np.where(x * beta > threshold, x, np.log1p(np.exp(x * beta)) / beta)

    def slope(x: Array) -> Any:
        return np.where(x * beta > threshold, x.dtype.type(1), logistic(x * beta))

    return pointwise(input, "SoftplusBackward0", "softplus_cpu", value, slope)


def logsigmoid(input: T) -> T:
    """log(sigmoid(input)), without overflow"""
    return pointwise(
        input,
        "LogSigmoidBackward0",
        "log_sigmoid_cpu",
        lambda x: np.minimum(x, 0) - np.log1p(np.exp(-np.abs(x))),
        lambda x: logistic(-x),
    )


def softsign(input: T) -> T:
    """input / (1 + |input|)"""
    if input.array.dtype.kind == "b":
        raise not_implemented("abs_cpu", input.array)
    return pointwise(
        floating(input),
        "DivBackward0",
        "softsign",
        lambda x: x / (1 + np.abs(x)),
        lambda x: np.reciprocal(np.square(1 + np.abs(x))),
    )


def tanhshrink(input: T) -> T:
    """input - tanh(input)"""
    if input.array.dtype.kind == "b":
        raise bool_error("Subtraction", two=False)
    return pointwise(
        floating(input),
        "SubBackward0",
        "tanhshrink",
        lambda x: x - np.tanh(x),
        lambda x: np.square(np.tanh(x)),
    )


def glu(input: T, dim: int = -1) -> T:
    """The first half of `input` along `dim`, times the sigmoid of the second"""
    x = input.array
    if not x.ndim:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    if x.dtype.kind in "iub":
        raise not_implemented("glu_cpu", x)
    along = axis(dim, x.ndim)
    if x.shape[along] % 2:
        raise RuntimeError(
            f"Halving dimension must be even, but dimension {dim} is size {x.shape[along]}"
        )
    a, b = np.split(x, 2, along)

    def backward(g: Array) -> Any:
        gate = logistic(b)
        return np.concatenate((g * gate, g * (a * gate * (1 - gate))), along)

    return record(quiet(lambda: a * logistic(b)), "GluBackward0", (input, backward, input))


leaky_relu_ = in_place(leaky_relu)
hardtanh_ = in_place(hardtanh)
relu6_ = in_place(relu6)
threshold_ = in_place(threshold)
hardsigmoid_ = in_place(hardsigmoid)
hardswish_ = in_place(hardswish)
elu_ = in_place(elu)
selu_ = in_place(selu)
celu_ = in_place(celu)
silu_ = in_place(silu)
mish_ = in_place(mish)
