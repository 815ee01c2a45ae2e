"""Exponentials, logarithms, and the functions made of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch_dist.tensors.core.base import Array, T
from minitorch_dist.tensors.core.graph import record
from minitorch_dist.tensors.core.operations import compute, sum_to
from minitorch_dist.tensors.core.without_warnings import without_warnings
from minitorch_dist.tensors.promotion import floating, not_implemented, promote


def exp(input: T) -> T:
    """e to the power of each element"""
    x = floating(input)
    out = without_warnings(np.exp, x.array)
    return record(out, "ExpBackward0", (x, lambda g: g * out), reads_result=True)


def expm1(input: T) -> T:
    """exp(input) - 1, exact near 0"""
    x = floating(input)
    out = without_warnings(np.expm1, x.array)
    return record(out, "Expm1Backward0", (x, lambda g: g * (out + 1)), reads_result=True)


def log(input: T) -> T:
    """The natural logarithm; -inf at 0 and nan below."""
    x = floating(input)
    a = x.array
    return record(without_warnings(np.log, a), "LogBackward0", (x, lambda g: g / a, x))


def log1p(input: T) -> T:
    """log(1 + input), exact near 0"""
    x = floating(input)
    a = x.array
    return record(without_warnings(np.log1p, a), "Log1PBackward0", (x, lambda g: g / (a + 1), x))


def logistic(x: Array) -> Any:
    """1 / (1 + exp(-x)), without overflow: exp of a large number is inf, and 1 / inf is 0."""
    if x.itemsize == 2:  # halves are rounded once
        return logistic(x.astype(np.float32)).astype(x.dtype)
    out = np.asanyarray(np.negative(x))
    np.exp(out, out)
    out += 1
    return np.reciprocal(out, out)


def sigmoid(input: T) -> T:
    """1 / (1 + exp(-input))"""
    x = floating(input)
    out = without_warnings(logistic, x.array)
    return record(out, "SigmoidBackward0", (x, lambda g: g * (out * (1 - out))), reads_result=True)


def logaddexp(input: T, other: T) -> T:
    """log(exp(input) + exp(other)), without overflow"""
    input, other = promote(input, other)
    x, y = input.array, other.array
    if x.dtype.kind in "iubc":
        raise not_implemented("logaddexp_cpu", x)
    return record(
        compute(np.logaddexp, x, y),
        "LogaddexpBackward0",
        (input, lambda g: sum_to(g * logistic(x - y), x.shape), input, other),
        (other, lambda g: sum_to(g * logistic(y - x), y.shape), input, other),
    )
