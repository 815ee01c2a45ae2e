"""Two operands of different types or shapes: their result, and the errors where they do not fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minitorch_dist.tensors.core import dtypes
from minitorch_dist.tensors.core.base import Array, Number, T, TensorBase
from minitorch_dist.tensors.core.dtypes import type_name
from minitorch_dist.tensors.core.graph import common_device, record, result
from minitorch_dist.tensors.core.without_warnings import (
    enter_silence,
    leave_silence,
    without_warnings,
)


def cast(input: T, dtype: dtypes.dtype) -> T:
    """`input` in another element type; recorded, so that its gradient is cast back."""
    if input.array.dtype == dtype.numpy:
        return input
    source = input.dtype
    out = converted(input.array, dtype)
    if dtype.category < dtypes.FLOATING:
        return result(input, out)
    return record(out, "ToCopyBackward0", (input, lambda g: converted(g, source)))


def converted(x: Array, dtype: dtypes.dtype) -> Array:
    """A copy of `x` as `dtype`: floats are cut off towards zero, and of a complex number the real part stays."""
    if x.dtype.kind == "c" and not dtype.is_complex and dtype is not dtypes.bool_:
        x = x.real
    return np.asanyarray(without_warnings(x.astype, dtype.numpy))


def real_floating(input: T, kernel: str) -> T:
    """As `floating`, for functions that are not defined for complex numbers."""
    try:
        kind = input.array.dtype.kind
    except AttributeError:
        raise not_a_tensor(input) from None
    if kind not in "iubc":
        return input
    if kind == "c":
        raise not_implemented(kernel, input.array)
    return cast(input, dtypes.get_default_dtype())


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
    if floating and dtype.category < dtypes.FLOATING:
        dtype = dtypes.get_default_dtype()
    if isinstance(other, TensorBase):
        if other.storage.device is not input.storage.device:
            common_device((input, other))
        return cast(input, dtype), cast(other, dtype)
    number = converted(np.asanyarray(other), dtype)
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
    return converted(np.asanyarray(number), dtype)


def result_type(tensor: TensorBase | Number, other: TensorBase | Number) -> dtypes.dtype:
    """The element type that an operation on the two has."""
    ranks: list[dtypes.dtype | None] = [None, None, None]  # with dimensions, 0-dim, numbers
    for operand in (tensor, other):
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
    return isinstance(value, (int, float, complex, np.number, np.bool_))


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


def swapped(input: Any, other: T | Number) -> tuple[T, Number]:
    """The operands of a function that was called with the number first."""
    if isinstance(other, TensorBase) and is_number(input):
        return other, input
    raise not_a_tensor(input)


# The quick test below is the same everywhere: operands that need no promotion are used as they
# are. A Python float meets a floating array (and an int any number) without changing its type.


def plain(x: Array, other: Any) -> bool:
    return (type(other) is float or type(other) is int) and x.dtype.kind not in "iub"


def with_number(function: Callable[[Array, Any], Any], x: Array, number: Any) -> Any:
    """function(x, number) for a floating x. Halves compute in float32 and round once."""
    if x.dtype.char in "fdFD":
        before = enter_silence()
        try:
            return function(x, number)
        finally:
            leave_silence(before)
    return without_warnings(function, x.astype(np.float32), number).astype(x.dtype)


def misfit(function: Callable[..., Any], x: Array, y: Array) -> Exception:
    """Why this function does not take these operands: their shapes do not fit, or it knows no such type."""
    try:
        np.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        return broadcast_error(x.shape, y.shape)
    name = getattr(function, "__name__", "")
    return not_implemented(f"{_KERNELS.get(name, name)}_cpu", x)


_KERNELS = {"arctan2": "atan2", "floor_divide": "div_floor"}  # where torch's name is not numpy's


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


def on_result_device(input: T, other: TensorBase) -> T:
    """The one of both whose device is that of a result made of both."""
    if input.storage.device is other.storage.device:
        return input
    device = common_device((input, other))
    return input if input.storage.device is device else other  # type: ignore[return-value]
