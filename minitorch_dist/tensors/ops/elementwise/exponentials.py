"""Exponentials, logarithms, and the functions made of them."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from minitorch_dist.tensors.core.base import Array
from minitorch_dist.tensors.ops.elementwise.smooth import of_input, of_result

LN2: Final = math.log(2)


def logistic(x: Array) -> Any:
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
exp2 = of_result(
    "Exp2Backward0", np.exp2, lambda g, y: g * y * g.dtype.type(LN2), "2 to the power of each element"
)
log2 = of_input("Log2Backward0", np.log2, lambda g, x: g / (x * x.dtype.type(LN2)), "The logarithm to base 2")
