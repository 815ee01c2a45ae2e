"""Activations made of straight lines: relu and what came of it.

Each has an in-place form, under the name with `_` or with `inplace=True`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch_dist.tensors.core.base import Array, T
from minitorch_dist.tensors.core.graph import record
from minitorch_dist.tensors.core.operations import sum_to
from minitorch_dist.tensors.core.views import check_writable, inplace as in_place, rebase, wrote
from minitorch_dist.tensors.masks import only
from minitorch_dist.tensors.ops import autocasting
from minitorch_dist.tensors.ops.elementwise.extremes import beside_number, clamp, clipped
from minitorch_dist.tensors.ops.layers.activations import applied, pointwise
from minitorch_dist.tensors.promotion import not_implemented


def relu(input: T, inplace: bool = False) -> T:
    """max(input, 0)"""
    if inplace:
        return relu_(input)
    x = input.array
    if x.dtype.kind in "bc":
        raise not_implemented("relu_cpu", x)
    out = beside_number(np.maximum, x, 0)
    return record(out, "ReluBackward0", (input, lambda g: only(g, out != 0)), reads_result=True)


def relu_(input: T) -> T:
    """In-place relu. It keeps its result and not its input, so the input's memory is reused."""
    check_writable(input)
    x = input.array
    if x.dtype.kind in "bc":
        raise not_implemented("relu_cpu", x)
    beside_number(np.maximum, x, 0, x)
    wrote(input, x)
    if input._requires_grad:
        out = record(x, "ReluBackward0", (input, lambda g: only(g, x != 0), input))
        if out._grad_fn is not None:
            rebase(input, (out._grad_fn, 0))
    return input


def hardtanh(input: T, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> T:
    """`input` between `min_val` and `max_val`"""
    if inplace:
        return hardtanh_(input, min_val, max_val)
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    if input.array.dtype.kind == "u" and min_val <= -1:
        raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
    if input.array.dtype.kind in "iu":
        return clamp(input, int(min_val), int(max_val))
    return applied(
        input,
        "HardtanhBackward0",
        "hardtanh",
        lambda x: clipped(x, x.dtype.type(min_val), x.dtype.type(max_val)),
        lambda g, x: only(g, ~((x <= min_val) | (x >= max_val))),
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
        lambda x: leaky(x, x * negative_slope, negative_slope),
        lambda x: leaky((x > 0).astype(x.dtype), x.dtype.type(negative_slope), negative_slope),
    )


def leaky(line: Array, leak: Any, slope: float) -> Any:
    """`line` where it is positive, else `leak`. (np.where is slow on masks without a pattern.)"""
    return np.maximum(line, leak) if 0 < slope <= 1 else np.where(line > 0, line, leak)


@autocasting.lower
def prelu(input: T, weight: T) -> T:
    """Leaky relu with a learned slope: one, or one for each channel (dimension 1)"""
    x, w = input.array, weight.array
    if x.dtype.kind in "iub" or x.dtype != w.dtype:
        raise RuntimeError(
            f"prelu() takes floats of one type, but got {input.dtype} and {weight.dtype}"
        )
    channels = x.shape[1] if x.ndim > 1 else 1
    if w.ndim > 1 or w.size not in (1, channels):
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


leaky_relu_ = in_place(leaky_relu)
hardtanh_ = in_place(hardtanh)
