"""Two operands of different types or shapes: their result, and the errors where they do not fit."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.core import operations, rare_cases
from minitorch_dist.tensors.core.base import Array, Number, T, TensorBase
from minitorch_dist.tensors.core.graph import common_device, record, result
from minitorch_dist.tensors.core.operations import NotAnOperand
from minitorch_dist.tensors.core.without_warnings import without_warnings
from minitorch_dist.tensors.dtypes import type_name


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


FLOAT32_MAX: Final = float(np.finfo(np.float32).max)


def as_element(number: Any, dtype: dtypes.dtype) -> Any:
    """A number as one element of this type, which must be able to hold it."""
    if number is None:
        return None
    fits = dtype.is_complex or not isinstance(number, (complex, np.complexfloating))
    if fits and dtype.category == dtypes.INTEGRAL:
        limits = np.iinfo(dtype.numpy)
        wraps = limits.min == 0 and isinstance(number, int)  # in an unsigned type, negative integers do
        fits = bool((-limits.max if wraps else limits.min) <= number <= limits.max)
    elif fits and dtype is dtypes.float32:
        fits = not FLOAT32_MAX < abs(number) < math.inf
    if not fits:
        raise RuntimeError(f"value cannot be converted to type {dtype.name} without overflow")
    return converted(np.asanyarray(number), dtype)


def one_element(value: Any, dtype: dtypes.dtype, what: str) -> tuple[Any, TensorBase | None]:
    """A number, or a 0-dim tensor, as an element of this type; and the tensor, for its gradient."""
    if not isinstance(value, TensorBase):
        if not is_number(value):
            raise not_a_tensor(value, "value")
        return as_element(value, dtype), None
    if value.array.ndim:
        raise RuntimeError(f"{what} takes a number or a tensor of no dimension, not of {value.array.ndim}")
    return converted(value.array, dtype), value


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


def demand_order(name: str, x: Array) -> None:
    """Complex numbers have no order, although numpy compares them by their real parts first."""
    if x.dtype.kind == "c":
        raise not_implemented(name, x)


def is_operand(value: object) -> bool:
    return isinstance(value, TensorBase) or is_number(value)


def not_a_tensor(value: object, name: str = "input") -> NotAnOperand:
    allowed = "Tensor" if name == "input" else "Tensor or Number"
    hint = "; make one with tensor() or from_numpy()" if isinstance(value, np.ndarray) else ""
    return NotAnOperand(f"argument '{name}' must be {allowed}, not {type(value).__name__}{hint}")


def scaled(input: Any, other: Any, alpha: Number) -> Any:
    """alpha * other, where `alpha` fits the type of the sum."""
    category = result_type(input, other).category
    kind = dtypes.of_scalar(alpha).category
    if kind > max(category, dtypes.INTEGRAL) or (kind == dtypes.BOOL and category != dtypes.BOOL):
        raise RuntimeError(f"alpha = {alpha!r} does not fit the result's type: it would change that type")
    return other * alpha


def swapped(input: Any, other: T | Number) -> tuple[T, Number]:
    """The operands of a function that was called with the number first."""
    if isinstance(other, TensorBase) and is_number(input):
        return other, input
    raise not_a_tensor(input)


def misfit(function: Callable[..., Any], x: Array, y: Array) -> Exception:
    """Why this function does not take these operands: their shapes do not fit, or it knows no such type."""
    try:
        common_shape(x, y)
    except RuntimeError as error:
        return error
    return not_implemented(getattr(function, "__name__", ""), x)


def common_shape(x: Array, y: Array) -> tuple[int, ...]:
    """The shape that both broadcast to."""
    try:
        return x.shape if x.shape == y.shape else np.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        shapes = f"{list(x.shape)} and {list(y.shape)}"
        raise RuntimeError(f"tensors of the shapes {shapes} cannot be broadcast together") from None


def on_result_device(input: T, other: TensorBase) -> T:
    """The one of both whose device is that of a result made of both."""
    if input.storage.device is other.storage.device and input.plain is other.plain:
        return input
    device = common_device((input, other))
    return input if input.storage.device is device else other  # type: ignore[return-value]


def taken_in(self: Any, array: Array) -> Any:
    """A numpy operand as a tensor. torch hands such operations to numpy, which knows no graph."""
    if self.requires_grad:
        raise RuntimeError("an array has no gradient to meet a tensor that requires grad: take from_numpy(array)")
    dtypes.from_numpy(array.dtype)  # which complains about what a tensor cannot hold
    return result(self, array.copy())


def sum_as(dtype: dtypes.dtype | None, input: T, dim: operations.Dims, keepdim: bool) -> T:
    """The sum of integers, or one in another type than that of `input`."""
    dtype = dtype or dtypes.int64
    if dtype.category >= dtypes.FLOATING:
        return operations.sum(cast(input, dtype), dim, keepdim)
    x = input.array.astype(dtype.numpy)
    return result(input, operations.add_up(x, operations.axes(dim, x.ndim), x.dtype, keepdims=keepdim))


rare_cases.sum_as, rare_cases.taken_in = sum_as, taken_in
rare_cases.promote, rare_cases.swapped = promote, swapped
rare_cases.scaled, rare_cases.misfit = scaled, misfit


def one_number(function: str, argument: str, value: object, kind: str = "float") -> None:
    """Refuse a list, and a tensor of several elements or of none, where a number is meant."""
    is_several = value.array.size != 1 if isinstance(value, TensorBase) else isinstance(value, (tuple, list))
    if is_several:
        given = "Tensor" if isinstance(value, TensorBase) else type(value).__name__
        raise TypeError(f"{function}(): argument '{argument}' must be {kind}, not {given}")
