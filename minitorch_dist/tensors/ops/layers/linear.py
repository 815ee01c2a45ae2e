"""The linear layer: input @ weightᵀ + bias.

It is the busiest operation of small networks. So the common case (a batch of rows, float32 or float64) has
a path of its own: it has only the product, the bias and the record.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from minitorch_dist.tensors import dtypes, flops
from minitorch_dist.tensors.core.base import Array, T, TensorBase
from minitorch_dist.tensors.core.graph import record
from minitorch_dist.tensors.core.operations import sum_to
from minitorch_dist.tensors.ops import autocasting
from minitorch_dist.tensors.ops.linear_algebra.products import misfit, product, same_dtype


@autocasting.lower
def linear(input: T, weight: T, bias: T | None = None) -> T:
    """input @ weightᵀ + bias, for inputs with any number of leading axes."""
    x, w = input.array, weight.array
    if x.ndim != 2 or w.ndim != 2 or x.dtype.char not in "fd":
        return _linear(input, weight, bias)
    if x.dtype is not w.dtype:
        same_dtype(input, weight)
    if x.shape[1] != w.shape[1]:
        raise misfit(x.shape, w.shape[::-1])
    if bias is None:
        made = record(
            _dot(x, w.T), "MmBackward0", (input, lambda g: _dot(g, w), weight), (weight, lambda g: _dot(g.T, x), input)
        )
    else:
        b = bias.array
        shape = b.shape
        if b.dtype is not x.dtype or shape != w.shape[:1]:
            _check_bias(bias, (len(x), len(w)), x.dtype)
        made = record(
            _affine(x, w, b),
            "AddmmBackward0",  # bias first: in torch's order leaves collect, and buckets fill
            (bias, lambda g: np.add.reduce(g) if g.shape[1:] == shape else sum_to(g, shape)),
            (input, lambda g: _dot(g, w), weight),
            (weight, lambda g: _dot(g.T, x), input),
        )
    if made._grad_fn is not None:
        made._grad_fn.owns = True  # all three are fresh arrays
    return made


def _dot(x: Array, y: Array, name: str = "aten.mm") -> Array:
    if flops.counters.on:
        flops.multiplied(name, (len(x), y.shape[1]), len(y))
    out: Array = x.dot(y)
    return out


def _affine(x: Array, w: Array, b: Array) -> Array:
    out = _dot(x, w.T, "aten.addmm")
    out += b
    return out


def _linear(input: T, weight: T, bias: T | None) -> T:
    """The same for other ranks and types: the leading axes are one long axis of rows meanwhile."""
    same_dtype(input, weight)
    x, w = input.array, weight.array
    if w.ndim not in (1, 2) or not x.ndim:
        raise RuntimeError(f"linear() takes a vector or a matrix as weight, but got {w.ndim}D beside {x.ndim}D")
    matrix = w if w.ndim == 2 else w[None, :]
    n, k = matrix.shape
    if x.shape[-1] != k:
        raise misfit(x.shape, (k, n))
    rows = math.prod(x.shape[:-1])
    name = "aten.mm" if bias is None else "aten.addmm"
    left, right = _wide(x.reshape(rows, k), matrix.T)
    out = product(left, right, name).reshape(x.shape[:-1] + w.shape[:-1])
    shape, wide = w.shape, x.shape
    inputs: list[tuple[Any, ...]] = [
        (input, lambda g: product(g.reshape(rows, n), w if w.ndim == 2 else w[None, :]).reshape(wide), weight),
        (weight, lambda g: product(g.reshape(rows, n).T, x.reshape(rows, k)).reshape(shape), input),
    ]
    if bias is not None:
        _check_bias(bias, out.shape, x.dtype)
        out += bias.array
        b = bias.array.shape
        inputs = [(bias, lambda g: sum_to(g, b)), *reversed(inputs)]  # as torch's leaves collect
    made: T = record(out.astype(x.dtype, copy=False), "LinearBackward0", *inputs)
    if made._grad_fn is not None and (bias is None or bias.array.shape != out.shape):
        made._grad_fn.owns = True
    return made


def _wide(*arrays: Array) -> Sequence[Array]:
    """Half precision as float32, so that product and bias are rounded once, together."""
    if arrays[0].dtype in dtypes.HALVES:
        return [a.astype(np.float32) for a in arrays]
    return arrays


def _check_bias(bias: TensorBase, shape: tuple[int, ...], dtype: Any) -> None:
    b = bias.array
    try:
        fits = b.dtype == dtype and np.broadcast_shapes(b.shape, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise RuntimeError(f"a bias of {b.dtype} and shape {list(b.shape)} does not fit {dtype} of shape {list(shape)}")
