"""Powers and roots."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch_dist.tensors.core.base import Array, Number, T, TensorBase
from minitorch_dist.tensors.core.graph import record, result
from minitorch_dist.tensors.core.operations import compute, sum_to, with_number
from minitorch_dist.tensors.core.views import inplace
from minitorch_dist.tensors.masks import only
from minitorch_dist.tensors.ops.elementwise.smooth import of_result
from minitorch_dist.tensors.promotion import as_element, cast, floating, is_number, promote, result_type


def raised(x: Array, n: Any) -> Any:
    """x to the power of the number n; the usual ones without a logarithm."""
    if n == 2:
        return x * x
    if n == 3:
        return x * x * x
    if n == 0.5:
        return np.sqrt(x)
    if n == -0.5:
        return 1 / np.sqrt(x)
    if n == -1:
        return 1 / x
    return np.power(x, n)


def pow(input: T, exponent: T | Number) -> T:
    """input ** exponent"""
    if is_number(exponent) and isinstance(input, TensorBase):
        return _to_number(input, exponent)
    input, exponent = promote(input, exponent)
    x, y = input.array, exponent.array
    if x.dtype.kind == "b":
        raise NotImplementedError("\"pow\" not implemented for 'Bool'")
    if x.dtype.kind in "iu":
        return result(input, compute(_integer_power, x, y))
    out = compute(np.power, x, y)
    return record(
        out,
        "PowBackward1",
        (input, lambda g: sum_to(_by_base(g, x, y), x.shape), input, exponent),
        (exponent, lambda g: sum_to(g * _growth(x, y, out), y.shape), input, exponent),
        reads_result=exponent.requires_grad,
    )


def _to_number(input: T, n: Any) -> T:
    if isinstance(n, np.generic):
        n = n.item()
    x = input.array
    if x.dtype.kind in "iub":
        if isinstance(n, float):
            return _to_number(floating(input), n)
        if n < 0:
            raise RuntimeError("Integers to negative integer powers are not allowed.")
        input = cast(input, result_type(input, n))
        return pow(input, result(input, as_element(n, input.dtype)))
    if n == 0:  # constant, even where x is 0, inf or nan
        return record(np.ones_like(x), "PowBackward0", (input, np.zeros_like, None))
    return record(
        with_number(raised, x, n),
        "PowBackward0",
        (input, lambda g: g * with_number(lambda x, n: n * raised(x, n - 1), x, n), input),
    )


def _integer_power(x: Array, y: Array) -> Any:
    """Negative powers of integers round to zero, but for those of 1 and -1."""
    if y.dtype.kind == "u" or not (y < 0).any():
        return np.power(x, y)
    out = np.power(x, np.abs(y))
    return np.where((y >= 0) | (np.abs(x) == 1), out, x.dtype.type(0))


def _by_base(g: Array, x: Array, y: Array) -> Any:
    """The gradient of x in x ** y; nothing of x to the power of 0 changes."""
    return only(g * (y * np.power(x, y - 1)), y != 0)


def _growth(x: Array, y: Array, out: Array) -> Array:
    """The derivative of x ** y by y; at x = 0 it is 0 for y >= 0."""
    return np.where((x == 0) & (y >= 0), x.dtype.type(0), out * np.log(x))


def square(input: T) -> T:
    """input * input"""
    return pow(input, 2)


sqrt = of_result("SqrtBackward0", np.sqrt, lambda g, y: g / (2 * y), "The square root; nan for negative elements.")
rsqrt = of_result(
    "RsqrtBackward0",
    lambda x: with_number(lambda x, one: one / np.sqrt(x), x, 1),
    lambda g, y: g * (y * y * y) / -2,
    "1 / sqrt(input)",
)
reciprocal = of_result("ReciprocalBackward0", np.reciprocal, lambda g, y: -g * (y * y), "1 / input")
pow_ = inplace(pow)
