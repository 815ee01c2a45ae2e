"""Run one call with numbers and without, and compare everything but the numbers."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import minitorch_dist as mtd
from minitorch_dist.tensors.shape_arrays import mode
from minitorch_dist.tensors.shape_arrays.array import NumbersNeeded, ShapeArray


def outcome(call: Callable[[], Any]) -> Any:
    """All tensors that `call` returns and the gradients that reach its inputs, or its error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return leaves(call())
        except Exception as error:
            return error


def leaves(value: Any) -> list[Any]:
    if isinstance(value, (tuple, list)):
        return [leaf for item in value for leaf in leaves(item)]
    return [value]


def described(value: Any, laid_out: bool) -> Any:
    """All that can be said of a value without its numbers; its strides where `laid_out`."""
    if not isinstance(value, mtd.Tensor):
        return type(value)
    # A step along an axis of one element, or of an empty tensor, means nothing.
    steps = [s for s, n in zip(value.stride(), value.shape, strict=True) if n > 1 and value.numel()]
    steps = steps if laid_out else []
    return tuple(value.shape), value.dtype, steps, str(value.device), value.requires_grad


def difference(call: Callable[[], Any], laid_out: bool = True) -> str | None:
    """None if `call` gives the same with numbers and without; "needs numbers" where it refuses; else the difference."""
    with_numbers = outcome(call)
    with mode.without_numbers():
        without = outcome(call)
    if isinstance(with_numbers, Exception):
        if isinstance(without, NumbersNeeded) or not isinstance(without, Exception):
            return None  # numbers may be wrong where shapes are right
        if type(without) is not type(with_numbers):
            return f"raises {without!r} in place of {with_numbers!r}"
        return None
    if isinstance(without, NumbersNeeded):
        return "needs numbers"
    if isinstance(without, Exception):
        return f"raises {without!r}"
    for value in without:
        if isinstance(value, mtd.Tensor) and not isinstance(value.array, ShapeArray):
            return f"a tensor of shape {tuple(value.shape)} has numbers"
    before, after = [[described(v, laid_out) for v in values] for values in (with_numbers, without)]
    return None if before == after else f"{after} in place of {before}"
