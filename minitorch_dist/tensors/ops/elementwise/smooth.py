"""Functions of one number, as a table: a function of numpy, and its slope.

    exp = of_result("ExpBackward0", np.exp, lambda g, y: g * y, "e to the power of the elements")
    log = of_input("LogBackward0", np.log, lambda g, x: g / x, "The natural logarithm")

A gradient is written in terms of the result, where that is cheaper, or of the input. It says which of the two is kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from minitorch_dist.tensors.core.base import Array, T
from minitorch_dist.tensors.core.graph import record
from minitorch_dist.tensors.core.without_warnings import without_warnings
from minitorch_dist.tensors.names import named
from minitorch_dist.tensors.promotion import floating

Gradient = Callable[[Array, Array], Any]


def of_input(node: str, function: Callable[[Array], Any], gradient: Gradient, words: str) -> Callable[[T], T]:
    """An operation whose gradient reads its input."""

    def operation(input: T) -> T:
        input = floating(input)
        x = input.array
        return record(without_warnings(function, x), node, (input, lambda g: gradient(g, x), input))

    return named(operation, _torchs_name(node), words)


def of_result(node: str, function: Callable[[Array], Any], gradient: Gradient, words: str) -> Callable[[T], T]:
    """An operation whose gradient reads its result."""

    def operation(input: T) -> T:
        input = floating(input)
        out = without_warnings(function, input.array)
        return record(out, node, (input, lambda g: gradient(g, out)), reads_result=True)

    return named(operation, _torchs_name(node), words)


def _torchs_name(node: str) -> str:
    return node.removesuffix("Backward0").lower()


# --------------------------------------------------------------------------------------- the table

LN2: Final = math.log(2)


def logistic(x: Array) -> Array:
    """1 / (1 + exp(-x)), without overflow: exp of a large number is inf, and 1 / inf is 0."""
    if x.itemsize == 2:  # halves are rounded once
        return logistic(x.astype(np.float32)).astype(x.dtype)
    out = np.asanyarray(np.negative(x))
    np.exp(out, out)
    out += 1
    return np.reciprocal(out, out)


exp = of_result("ExpBackward0", np.exp, lambda g, y: g * y, "e to the power of each element")
expm1 = of_result("Expm1Backward0", np.expm1, lambda g, y: g * (y + 1), "exp(input) - 1, exact near 0")
log = of_input("LogBackward0", np.log, lambda g, x: g / x, "The natural logarithm; -inf at 0 and nan below.")
log1p = of_input("Log1PBackward0", np.log1p, lambda g, x: g / (x + 1), "log(1 + input), exact near 0")
sigmoid = of_result("SigmoidBackward0", logistic, lambda g, y: g * (y * (1 - y)), "1 / (1 + exp(-input))")
exp2 = of_result("Exp2Backward0", np.exp2, lambda g, y: g * y * g.dtype.type(LN2), "2 to the power of each element")
log2 = of_input("Log2Backward0", np.log2, lambda g, x: g / (x * x.dtype.type(LN2)), "The logarithm to base 2")
sin = of_input("SinBackward0", np.sin, lambda g, x: g * np.cos(x), "The sine")
cos = of_input("CosBackward0", np.cos, lambda g, x: g * -np.sin(x), "The cosine")
tanh = of_result("TanhBackward0", np.tanh, lambda g, y: g * (1 - y * y), "The hyperbolic tangent")
