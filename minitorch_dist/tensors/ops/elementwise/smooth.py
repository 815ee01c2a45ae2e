"""The one mechanism for functions of one number: a function of numpy, and its slope.

    exp = of_result("ExpBackward0", np.exp, lambda g, y: g * y, "e to the power of the elements")
    log = of_input("LogBackward0", np.log, lambda g, x: g / x, "The natural logarithm")

A gradient is written in terms of the result, where that is cheaper, or of the input. It says which of the two is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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


def of_result(
    node: str, function: Callable[[Array], Any], gradient: Gradient, words: str
) -> Callable[[T], T]:
    """An operation whose gradient reads its result."""

    def operation(input: T) -> T:
        input = floating(input)
        out = without_warnings(function, input.array)
        return record(out, node, (input, lambda g: gradient(g, out)), reads_result=True)

    return named(operation, _torchs_name(node), words)


def _torchs_name(node: str) -> str:
    return node.removesuffix("Backward0").lower()
