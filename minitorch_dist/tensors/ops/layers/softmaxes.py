"""softmax and its logarithm. The largest element is taken off first: exp never overflows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.core.base import Array, T
from minitorch_dist.tensors.core.graph import record
from minitorch_dist.tensors.core.operations import Dims, axes, axis, numpy_names, spread
from minitorch_dist.tensors.core.without_warnings import without_warnings
from minitorch_dist.tensors.promotion import cast, floating, not_implemented


@numpy_names
def softmax(input: T, dim: int, dtype: dtypes.dtype | None = None) -> T:
    """exp(input) / sum(exp(input)): along `dim`, the elements add up to 1"""
    return softmax_of(*_prepared(input, dim, dtype, "softmax_lastdim_kernel_impl"))


def softmax_of(input: T, x: Array, along: int) -> T:
    """softmax of `x`: the array of `input`, or that array with -inf where an element is hidden."""
    out = without_warnings(_softmax, x, along)

    backward = _widened(_softmax_gradient, out, along)
    return record(out, "SoftmaxBackward0", (input, backward), reads_result=True)


def _widened(gradient: Callable[..., Array], out: Array, along: int) -> Callable[[Array], Array]:
    """The gradient as a function of that of the result; halves compute in float32."""

    def backward(g: Array) -> Array:
        if not g.ndim:
            return np.zeros_like(g)
        if g.dtype not in dtypes.HALVES:
            return gradient(g, out, along)
        return gradient(g.astype(np.float32), out.astype(np.float32), along).astype(g.dtype)

    return backward


def _prepared(input: T, dim: int, dtype: dtypes.dtype | None, kernel: str) -> tuple[T, Array, int]:
    if dtype is not None:
        input = cast(input, dtype)
    x = input.array
    along = axis(dim, x.ndim)
    if x.dtype.kind in "iubc":
        raise not_implemented(kernel, x)
    return input, x, along


def _shifted(x: Array, along: int) -> Array:
    """A fresh array: x without its largest element along the axis; halves become float32."""
    if x.dtype in dtypes.HALVES:
        x = x.astype(np.float32)
    if not x.size or not x.ndim:
        return np.asanyarray(x - x)
    return x - np.maximum.reduce(x, along, keepdims=True)


def _softmax(x: Array, along: int) -> Array:
    out = _shifted(x, along)
    np.exp(out, out)
    if out.ndim:
        out /= np.add.reduce(out, along, keepdims=True)
    return out.astype(x.dtype, copy=False)


def _softmax_gradient(g: Array, out: Array, along: int) -> Array:
    product = g * out
    product -= out * np.add.reduce(product, along, keepdims=True)
    return product


@numpy_names
def log_softmax(input: T, dim: int, dtype: dtypes.dtype | None = None) -> T:
    """log(softmax(input)), exact where that is very negative"""
    input, x, along = _prepared(input, dim, dtype, "log_softmax_lastdim_kernel_impl")
    out = without_warnings(_log_softmax, x, along)

    backward = _widened(_log_softmax_gradient, out, along)
    return record(out, "LogSoftmaxBackward0", (input, backward), reads_result=True)


def _log_softmax(x: Array, along: int) -> Array:
    out = _shifted(x, along)
    if out.ndim:
        out -= np.log(np.add.reduce(np.exp(out), along, keepdims=True))
    return out.astype(x.dtype, copy=False)


def _log_softmax_gradient(g: Array, out: Array, along: int) -> Array:
    product = np.exp(out)
    product *= np.add.reduce(g, along, keepdims=True)
    return np.subtract(g, product, out=product)


@numpy_names
def logsumexp(input: T, dim: Dims, keepdim: bool = False) -> T:
    """log(sum(exp(input))) over `dim`, without overflow"""
    input = floating(input)
    x = input.array
    over = axes(dim, x.ndim)
    out = without_warnings(_logsumexp, x, over, keepdim)
    shape = x.shape

    def backward(g: Array) -> Any:
        return spread(g, shape, over, keepdim) * np.exp(x - spread(np.asanyarray(out), shape, over, keepdim))

    return record(out, "LogsumexpBackward0", (input, backward, input), reads_result=True)


def _logsumexp(x: Array, over: tuple[int, ...], keepdim: bool) -> Array:
    wide = x.astype(np.float32) if x.dtype in dtypes.HALVES else x
    top = np.maximum.reduce(wide, over, keepdims=True, initial=-np.inf)
    top = np.where(np.isinf(top), wide.dtype.type(0), top)
    out = np.log(np.add.reduce(np.exp(wide - top), over, keepdims=True)) + top
    if not keepdim:
        out = out.squeeze(over) if over else out
    return out.astype(x.dtype, copy=False)
