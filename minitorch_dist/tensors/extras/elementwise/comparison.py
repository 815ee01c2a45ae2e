"""Comparisons, and what is decided by them. The results are bool and have no gradient: those that are rarely used."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch_dist.tensors.core.base import Array, Number, T, TensorBase
from minitorch_dist.tensors.core.graph import record, result
from minitorch_dist.tensors.core.operations import compute
from minitorch_dist.tensors.core.views import inplace
from minitorch_dist.tensors.names import also_called
from minitorch_dist.tensors.ops.elementwise.comparison import eq, ge, gt, le, lt, ne
from minitorch_dist.tensors.promotion import (
    not_a_tensor,
    on_result_device,
)


def heaviside(input: T, values: T) -> T:
    """0 below 0, 1 above, and `values` at 0"""
    x, v = input.array, values.array
    if x.dtype != v.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")

    def step(x: Array, v: Array) -> Any:
        return np.where(x == 0, v, (x > 0).astype(x.dtype))

    def no_derivative(grad: Array) -> Any:
        raise RuntimeError("derivative for aten::heaviside is not implemented")

    out = compute(step, x, v)
    return record(out, "NotImplemented", (input, no_derivative), (values, no_derivative))


@also_called(element="elements", test_element="test_elements")
def isin(
    elements: T | Number,
    test_elements: T | Number,
    *,
    assume_unique: bool = False,
    invert: bool = False,
) -> T:
    """Which of `elements` are among `test_elements`"""
    like = elements if isinstance(elements, TensorBase) else test_elements
    if not isinstance(like, TensorBase):
        raise not_a_tensor(elements, "elements")
    if isinstance(elements, TensorBase) and isinstance(test_elements, TensorBase):
        like = on_result_device(elements, test_elements)
    x, y = (np.asanyarray(getattr(v, "array", v)) for v in (elements, test_elements))
    return result(like, np.isin(x, y, assume_unique=assume_unique, invert=invert))


def isinf(input: T) -> T:
    """Which elements are infinite"""
    return result(input, np.isinf(input.array))


def isposinf(input: T) -> T:
    """Which elements are +inf"""
    return result(input, _equals(input.array, np.inf))


def isneginf(input: T) -> T:
    """Which elements are -inf"""
    return result(input, _equals(input.array, -np.inf))


def _equals(x: Array, value: float) -> Array:
    if x.dtype.kind == "c":
        name = "isposinf" if value > 0 else "isneginf"
        raise RuntimeError(f"{name} does not support complex inputs.")
    return np.zeros(x.shape, bool, like=x) if x.dtype.kind in "iub" else np.asanyarray(x == value)


greater, greater_equal, less, less_equal, not_equal = gt, ge, lt, le, ne
eq_ = inplace(eq)
ne_ = inplace(ne)
lt_ = inplace(lt)
le_ = inplace(le)
gt_ = inplace(gt)
ge_ = inplace(ge)
greater_, greater_equal_, less_, less_equal_, not_equal_ = gt_, ge_, lt_, le_, ne_
heaviside_ = inplace(heaviside)
