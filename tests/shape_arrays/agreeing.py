"""Run one call with numbers and without, and compare everything but the numbers."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Final

import minitorch_dist as mtd
from minitorch_dist.tensors.shape_arrays import mode
from minitorch_dist.tensors.shape_arrays.array import NumbersNeeded, ShapeArray

NEEDS_NUMBERS: Final = "needs numbers"
PLAIN: Final = (int, str, mtd.Size, mtd.dtype, mtd.device, type(None))  # values that shapes decide


def outcome(call: Callable[[], Any]) -> Any:
    """All that `call` returns, in a list; or its error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return leaves(call())
        except Exception as error:
            return error


def leaves(value: Any) -> list[Any]:
    if isinstance(value, (tuple, list)) and not isinstance(value, mtd.Size):
        return [leaf for item in value for leaf in leaves(item)]
    return [value]


def described(value: Any) -> Any:
    """All that can be said of a value without its numbers."""
    if not isinstance(value, mtd.Tensor):
        return value if isinstance(value, PLAIN) else type(value)
    # A step along an axis of one element, or of an empty tensor, means nothing.
    steps = [s for s, n in zip(value.stride(), value.shape, strict=True) if n > 1 and value.numel()]
    node = None if value.grad_fn is None else value.grad_fn.name()
    return tuple(value.shape), value.dtype, steps, str(value.device), value.requires_grad, node


def difference(call: Callable[[], Any]) -> str | None:
    """None if `call` gives the same with numbers and without; NEEDS_NUMBERS where it refuses; else the difference."""
    return compared(outcome(call), without_numbers(call))


def without_numbers(call: Callable[[], Any]) -> Any:
    with mode.without_numbers():
        return outcome(call)


def compared(before: Any, after: Any) -> str | None:
    if isinstance(after, NumbersNeeded):
        return None if isinstance(before, Exception) else NEEDS_NUMBERS
    if isinstance(before, Exception) or isinstance(after, Exception):
        return None if type(before) is type(after) else f"{said(after)} in place of {said(before)}"
    for value in after:
        if isinstance(value, mtd.Tensor) and not isinstance(value.array, ShapeArray):
            return f"a tensor of shape {tuple(value.shape)} has numbers"
    expected, found = [[described(v) for v in values] for values in (before, after)]
    return None if expected == found else f"{found} in place of {expected}"


def said(result: Any) -> str:
    if isinstance(result, Exception):
        return repr(result)
    return f"{[described(value) for value in result]}"
