"""Signs, magnitudes and roundings: functions whose slope is constant between their steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minitorch_dist.tensors.core.base import Array, T
from minitorch_dist.tensors.core.graph import record, result
from minitorch_dist.tensors.core.without_warnings import without_warnings
from minitorch_dist.tensors.promotion import demand_order, not_implemented


def _step(function: Callable[[Array], Any], input: T, name: str, kernel: str) -> T:
    """A function that is constant between steps: integers stay as they are, gradients are 0."""
    x = input.array
    if x.dtype.kind in "iu":
        return result(input, x.copy())
    if x.dtype.kind in "bc":
        raise not_implemented(kernel, x)
    return record(without_warnings(function, x), name, (input, np.zeros_like))


def floor(input: T) -> T:
    """The largest integers that are not above the elements"""
    return _step(np.floor, input, "FloorBackward0", "floor_vml_cpu")


def ceil(input: T) -> T:
    """The smallest integers that are not below the elements"""
    return _step(np.ceil, input, "CeilBackward0", "ceil_vml_cpu")


def round(input: T) -> T:
    """The nearest integers, halves to even"""
    return _step(np.rint, input, "RoundBackward0", "round_vml_cpu")


def abs(input: T) -> T:
    """The magnitude of each element"""
    x = input.array
    if x.dtype.kind == "b":
        raise not_implemented("abs_cpu", x)
    return record(np.abs(x), "AbsBackward0", (input, lambda g: g * signs(x), input))


def signs(x: Array) -> Any:
    """-1, 0 or 1, and 0 for nan, in the type of x; of a complex number its direction"""
    if x.dtype.kind == "c":
        return np.where(x == 0, 0, x / np.where(x == 0, 1, np.abs(x))).astype(x.dtype)
    if x.dtype.kind == "u":
        return (x > 0).astype(x.dtype)
    return (x > 0).astype(x.dtype) - (x < 0).astype(x.dtype)


def sign(input: T) -> T:
    """-1, 0 or 1"""
    x = input.array
    if x.dtype.kind == "b":
        return result(input, x.copy())
    demand_order("sign_cpu", x)
    return record(signs(x), "SignBackward0", (input, np.zeros_like))
