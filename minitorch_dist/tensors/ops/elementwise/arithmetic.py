"""Differences and negatives. Sums and products stand in `core.operations`."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch_dist.tensors.core.base import Number, T, TensorBase
from minitorch_dist.tensors.core.graph import record
from minitorch_dist.tensors.core.operations import compute, plain, sum_to, with_number
from minitorch_dist.tensors.core.views import inplace
from minitorch_dist.tensors.promotion import is_operand, promote, scaled, swapped


def sub(input: T, other: T | Number, *, alpha: Number = 1) -> T:
    """input - alpha * other"""
    if alpha != 1 or alpha is True:
        other = scaled(input, other, alpha)
    try:
        x = input.array
    except AttributeError:
        tensor, number = swapped(input, other)
        return rsub(tensor, number)
    if isinstance(other, TensorBase) and other.array.dtype is x.dtype and x.dtype.kind != "b":
        y = other.array
    elif plain(x, other):
        return record(with_number(np.subtract, x, other), "SubBackward0", (input, lambda g: g))
    elif (x.dtype.kind == "b" and is_operand(other)) or is_bool(other):
        raise bool_error("Subtraction", two=x.dtype.kind == "b" and isinstance(other, TensorBase))
    else:
        input, other = promote(input, other)
        x, y = input.array, other.array
    out = compute(np.subtract, x, y)
    a, b = x.shape, y.shape
    return record(out, "SubBackward0", (input, lambda g: sum_to(g, a)), (other, lambda g: sum_to(-g, b)))


def is_bool(operand: Any) -> bool:
    if isinstance(operand, TensorBase):
        return bool(operand.array.dtype.kind == "b")
    return isinstance(operand, bool)


def bool_error(what: str, two: bool) -> RuntimeError:
    tensors, instead = (
        ("two bool tensors", "`^` or `logical_xor()`") if two else ("a bool tensor", "`~` or `logical_not()`")
    )
    hint = "Use" if two else "If you are trying to invert a mask, use"
    verb = f"{what}, the `-` operator, {'on' if what == 'Negation' else 'with'} {tensors}"
    return RuntimeError(f"{verb} is not supported. {hint} the {instead} operator instead.")


def rsub(input: T, other: T | Number, *, alpha: Number = 1) -> T:
    """other - alpha * input"""
    if alpha != 1 or alpha is True:
        input = scaled(other, input, alpha)
    if (is_bool(input) and is_operand(other)) or is_bool(other):
        raise bool_error("Subtraction", two=isinstance(other, TensorBase))
    x = input.array
    if plain(x, other):
        out = with_number(lambda x, n: n - x, x, other)
        return record(out, "RsubBackward1", (input, lambda g: -g))
    return sub(*promote(other, input))


def neg(input: T) -> T:
    """-input"""
    if input.array.dtype.kind == "b":
        raise bool_error("Negation", two=False)
    return record(-input.array, "NegBackward0", (input, lambda g: -g))


def positive(input: T) -> T:
    """input itself"""
    if input.array.dtype.kind == "b":
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


neg_ = inplace(neg)
