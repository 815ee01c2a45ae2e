"""Activations made of straight lines: relu and what came of it.

Each has an in-place form, under the name with `_` or with `inplace=True`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch_dist.tensors.core.base import Array, T
from minitorch_dist.tensors.core.graph import record
from minitorch_dist.tensors.core.views import check_writable, inplace as in_place, rebase, wrote
from minitorch_dist.tensors.masks import only
from minitorch_dist.tensors.ops.elementwise.extremes import beside_number
from minitorch_dist.tensors.ops.layers.activations import pointwise
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


leaky_relu_ = in_place(leaky_relu)
