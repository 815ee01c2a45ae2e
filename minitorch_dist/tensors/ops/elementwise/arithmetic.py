"""Sums, differences and products of two tensors, or of a tensor and a Python number.

What all element-wise operations stand on is here as well: broadcasting, promotion, and `compute`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.base import Array, Number, T, TensorBase
from minitorch_dist.tensors.graph import common_device, record, result
from minitorch_dist.tensors.nodes import type_name
from minitorch_dist.tensors.quiet import quiet
from minitorch_dist.tensors.views import inplace

# ------------------------------------------------------------------------------------ broadcasting


def sum_to(grad: Array, shape: tuple[int, ...]) -> Array:
    """Undo broadcasting: add up the gradient over the axes along which `shape` was repeated."""
    if grad.shape == shape:
        return grad
    if grad.dtype in dtypes.HALVES:  # add up in float32, round once
        return sum_to(grad.astype(np.float32), shape).astype(grad.dtype)
    extra = grad.ndim - len(shape)
    if extra:
        grad = grad.sum(tuple(range(extra)), dtype=grad.dtype)
    repeated = tuple(i for i, n in enumerate(shape) if n == 1 and grad.shape[i] != 1)
    return grad.sum(repeated, dtype=grad.dtype, keepdims=True) if repeated else grad


def broadcast_error(a: tuple[int, ...], b: tuple[int, ...]) -> RuntimeError:
    """torch's sentence for shapes that do not fit."""
    for back in range(1, min(len(a), len(b)) + 1):
        x, y = a[-back], b[-back]
        if x != y and 1 not in (x, y):
            axis = max(len(a), len(b)) - back
            return RuntimeError(
                f"The size of tensor a ({x}) must match the size of tensor b ({y}) at "
                f"non-singleton dimension {axis}"
            )
    raise AssertionError(f"shapes {a} and {b} do broadcast")


def compute(function: Callable[[Array, Array], Any], x: Array, y: Array) -> Any:
    """function(x, y), silently; shapes that do not broadcast are an error in torch's words."""
    try:
        return quiet(function, x, y)
    except ValueError:
        raise broadcast_error(x.shape, y.shape) from None


def with_number(function: Callable[[Array, Any], Any], x: Array, number: Any) -> Any:
    """function(x, number) for a floating x. Halves compute in float32 and round once."""
    if x.dtype.char in "fd":
        return quiet(function, x, number)
    return quiet(function, x.astype(np.float32), number).astype(x.dtype)


def home(input: T, other: TensorBase) -> T:
    """The one of both whose device is that of a result made of both."""
    if input.storage.device is other.storage.device:
        return input
    device = common_device((input, other))
    return input if input.storage.device is device else other  # type: ignore[return-value]


# --------------------------------------------------------------------------------------- promotion


def cast(input: T, dtype: dtypes.dtype) -> T:
    """`input` in another element type; recorded, so that its gradient is cast back."""
    if input.array.dtype == dtype.numpy:
        return input
    source = input.array.dtype
    out = quiet(input.array.astype, dtype.numpy)
    if not dtype.is_floating_point:
        return result(input, out)
    return record(out, "ToCopyBackward0", (input, lambda g: g.astype(source)))


def floating(input: T) -> T:
    """`input`, or if it holds integers: the same values in the default floating type."""
    try:
        kind = input.array.dtype.kind
    except AttributeError:
        raise not_a_tensor(input) from None
    return cast(input, dtypes.get_default_dtype()) if kind in "iub" else input


def promote(input: T | Number, other: T | Number, floating: bool = False) -> tuple[T, T]:
    """Both operands as tensors of the type their result has (`floating`: at least the default)."""
    if not isinstance(input, TensorBase):
        if not isinstance(other, TensorBase) or not is_number(input):
            raise not_a_tensor(input)
        b, a = promote(other, input, floating)
        return a, b
    dtype = result_type(input, other)
    if floating and not dtype.is_floating_point:
        dtype = dtypes.get_default_dtype()
    if isinstance(other, TensorBase):
        if other.storage.device is not input.storage.device:
            common_device((input, other))
        return cast(input, dtype), cast(other, dtype)
    number = quiet(np.asarray(other).astype, dtype.numpy)
    return cast(input, dtype), result(input, number)


def as_element(number: Any, dtype: dtypes.dtype) -> Any:
    """A number as one element of this type, which must be able to hold it."""
    if number is None:
        return None
    if dtype.category == dtypes.INTEGRAL:
        limits = np.iinfo(dtype.numpy)
        low = limits.min
        if low == 0 and isinstance(number, int):
            low = -limits.max  # in an unsigned type, negative integers wrap
        if not low <= number <= limits.max:
            name = f"{dtype.name}_t"
            raise RuntimeError(f"value cannot be converted to type {name} without overflow")
    return quiet(np.asarray(number).astype, dtype.numpy)


def result_type(tensor1: TensorBase | Number, tensor2: TensorBase | Number) -> dtypes.dtype:
    """The element type that an operation on the two has."""
    ranks: list[dtypes.dtype | None] = [None, None, None]  # with dimensions, 0-dim, numbers
    for operand in (tensor1, tensor2):
        if isinstance(operand, TensorBase):
            rank, dtype = (0 if operand.array.ndim else 1), operand.dtype
        elif is_number(operand):
            rank, dtype = 2, dtypes.of_scalar(operand)
        else:
            raise not_a_tensor(operand, "other")
        before = ranks[rank]
        ranks[rank] = dtype if before is None else dtypes.promote_types(before, dtype)
    return dtypes.result_of(*ranks)


def is_number(value: object) -> bool:
    return isinstance(value, (int, float, np.number, np.bool_))


def not_implemented(name: str, x: Array) -> NotImplementedError:
    """torch's error for an element type that an operation does not know."""
    return NotImplementedError(f"\"{name}\" not implemented for '{type_name(x)[6:-6]}'")


def is_operand(value: object) -> bool:
    return isinstance(value, TensorBase) or is_number(value)


class NotAnOperand(TypeError):
    """An operator turns it into NotImplemented, so that Python asks the other operand."""


def not_a_tensor(value: object, name: str = "input") -> NotAnOperand:
    allowed = "Tensor" if name == "input" else "Tensor or Number"
    hint = "; make one with tensor() or from_numpy()" if isinstance(value, np.ndarray) else ""
    return NotAnOperand(f"argument '{name}' must be {allowed}, not {type(value).__name__}{hint}")


# The quick test below is the same everywhere: operands that need no promotion are used as they
# are. A Python float meets a floating array (and an int any number) without changing its type.


def plain(x: Array, other: Any) -> bool:
    return (type(other) is float or type(other) is int) and x.dtype.kind not in "iub"


# -------------------------------------------------------------------------------------- operations


def add(input: T, other: T | Number, *, alpha: Number = 1) -> T:
    """input + alpha * other"""
    if alpha != 1 or alpha is True:
        other = scaled(input, other, alpha)
    try:
        x = input.array
    except AttributeError:
        tensor, number = swapped(input, other)
        return add(tensor, number)
    if isinstance(other, TensorBase) and other.array.dtype is x.dtype:
        y = other.array
    elif plain(x, other):
        return record(with_number(np.add, x, other), "AddBackward0", (input, lambda g: g))
    else:
        input, other = promote(input, other)
        x, y = input.array, other.array
    out = compute(np.add, x, y)
    a, b = x.shape, y.shape
    return record(
        out, "AddBackward0", (input, lambda g: sum_to(g, a)), (other, lambda g: sum_to(g, b))
    )


def scaled(input: Any, other: Any, alpha: Number) -> Any:
    """alpha * other, where `alpha` fits the type of the sum."""
    category = result_type(input, other).category
    if isinstance(alpha, bool) and category != dtypes.BOOL:
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if isinstance(alpha, float) and category != dtypes.FLOATING:
        raise RuntimeError(
            "For integral input tensors, argument alpha must not be a floating point number."
        )
    return mul(other, alpha) if isinstance(other, TensorBase) else other * alpha


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
    return record(
        out, "SubBackward0", (input, lambda g: sum_to(g, a)), (other, lambda g: sum_to(-g, b))
    )


def swapped(input: Any, other: T | Number) -> tuple[T, Number]:
    """The operands of a function that was called with the number first."""
    if isinstance(other, TensorBase) and is_number(input):
        return other, input
    raise not_a_tensor(input)


def is_bool(operand: Any) -> bool:
    if isinstance(operand, TensorBase):
        return bool(operand.array.dtype.kind == "b")
    return isinstance(operand, bool)


def bool_error(what: str, two: bool) -> RuntimeError:
    tensors, instead = ("two bool tensors", "`^` or `logical_xor()`") if two else (
        "a bool tensor", "`~` or `logical_not()`")  # fmt: skip
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


def mul(input: T, other: T | Number) -> T:
    """input * other"""
    try:
        x = input.array
    except AttributeError:
        tensor, number = swapped(input, other)
        return mul(tensor, number)
    if isinstance(other, TensorBase) and other.array.dtype is x.dtype:
        y = other.array
    elif plain(x, other):
        return record(
            with_number(np.multiply, x, other),
            "MulBackward0",
            (input, lambda g: with_number(np.multiply, g, other), None),
        )
    else:
        input, other = promote(input, other)
        x, y = input.array, other.array
    a, b = x.shape, y.shape
    return record(
        compute(np.multiply, x, y),
        "MulBackward0",
        (input, lambda g: sum_to(g * y, a), other),
        (other, lambda g: sum_to(g * x, b), input),
    )


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
subtract = sub
multiply = mul
negative, negative_ = neg, neg_
