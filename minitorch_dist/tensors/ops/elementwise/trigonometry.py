"""Circular and hyperbolic functions and their inverses."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch_dist.tensors.core.base import Array, T
from minitorch_dist.tensors.core.graph import record
from minitorch_dist.tensors.core.operations import compute, sum_to
from minitorch_dist.tensors.ops.elementwise.smooth import of_input, of_result
from minitorch_dist.tensors.promotion import promote

sin = of_input("SinBackward0", np.sin, lambda g, x: g * np.cos(x), "The sine")
cos = of_input("CosBackward0", np.cos, lambda g, x: g * -np.sin(x), "The cosine")
asin = of_input("AsinBackward0", np.arcsin, lambda g, x: g / np.sqrt(1 - x * x), "The arc sine")
acos = of_input("AcosBackward0", np.arccos, lambda g, x: -g / np.sqrt(1 - x * x), "The arc cosine")
atan = of_input("AtanBackward0", np.arctan, lambda g, x: g / (1 + x * x), "The arc tangent")
tanh = of_result("TanhBackward0", np.tanh, lambda g, y: g * (1 - y * y), "The hyperbolic tangent")


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
