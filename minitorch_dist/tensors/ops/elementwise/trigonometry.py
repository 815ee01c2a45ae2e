"""Circular and hyperbolic functions and their inverses."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch_dist.tensors.core.base import Array, T
from minitorch_dist.tensors.core.graph import record
from minitorch_dist.tensors.core.operations import compute, sum_to
from minitorch_dist.tensors.core.without_warnings import without_warnings
from minitorch_dist.tensors.promotion import floating, promote


def sin(input: T) -> T:
    x = floating(input)
    a = x.array
    return record(without_warnings(np.sin, a), "SinBackward0", (x, lambda g: g * np.cos(a), x))


def cos(input: T) -> T:
    x = floating(input)
    a = x.array
    return record(without_warnings(np.cos, a), "CosBackward0", (x, lambda g: g * -np.sin(a), x))


def asin(input: T) -> T:
    x = floating(input)
    a = x.array
    return record(
        without_warnings(np.arcsin, a), "AsinBackward0", (x, lambda g: g / np.sqrt(1 - a * a), x)
    )


def acos(input: T) -> T:
    x = floating(input)
    a = x.array
    return record(
        without_warnings(np.arccos, a), "AcosBackward0", (x, lambda g: -g / np.sqrt(1 - a * a), x)
    )


def atan(input: T) -> T:
    x = floating(input)
    a = x.array
    return record(
        without_warnings(np.arctan, a), "AtanBackward0", (x, lambda g: g / (1 + a * a), x)
    )


def tanh(input: T) -> T:
    x = floating(input)
    out = without_warnings(np.tanh, x.array)
    return record(out, "TanhBackward0", (x, lambda g: g * (1 - out * out)), reads_result=True)


def atan2(input: T, other: T) -> T:
    """The angle of the point (other, input), from -pi to pi"""
    input, other = promote(input, other, floating=True)
    x, y = input.array, other.array
    return record(
        compute(np.arctan2, x, y),
        "Atan2Backward0",
        (input, lambda g: sum_to(g * (y * _inverse_square(x, y)), x.shape), input, other),
        (other, lambda g: sum_to(g * (-x * _inverse_square(x, y)), y.shape), input, other),
    )


def _inverse_square(x: Array, y: Array) -> Any:
    """1 / (x² + y²); at the origin, which has no angle, 0"""
    square = x * x + y * y
    return np.where(square == 0, square, 1 / square)


arcsin, arccos, arctan, arctan2 = asin, acos, atan, atan2
