"""Comparisons, and what is decided by them. The results are bool and have no gradient."""

from __future__ import annotations

from typing import Any, overload

import numpy as np

from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.core import observers
from minitorch_dist.tensors.core.base import Array, Number, T, TensorBase
from minitorch_dist.tensors.core.graph import common_device, record, result
from minitorch_dist.tensors.core.operations import compute, sum_to
from minitorch_dist.tensors.core.without_warnings import without_warnings
from minitorch_dist.tensors.promotion import demand_order, not_a_tensor, on_result_device, promote
from minitorch_dist.tensors.shape_arrays.array import NumbersNeeded, has_numbers


def _compare(ufunc: np.ufunc, input: T, other: T | Number) -> T:
    x = input.array
    if isinstance(other, TensorBase):
        y, like = other.array, input
        if y.dtype is not x.dtype:
            a, b = promote(input, other)
            x, y = a.array, b.array
        if other.storage.device is not input.storage.device or other.plain is not input.plain:
            like = on_result_device(input, other)
        if x.dtype.kind == "c":
            _demand_meaning(ufunc, x)
        return result(like, compute(ufunc, x, y))
    if (type(other) is float or type(other) is int) and x.dtype.kind == "f":
        return result(input, without_warnings(ufunc, x, x.dtype.type(other)))
    a, b = promote(input, other)
    _demand_meaning(ufunc, a.array)
    return result(input, without_warnings(ufunc, a.array, b.array))


def _demand_meaning(ufunc: np.ufunc, x: Array) -> None:
    if ufunc is not np.equal and ufunc is not np.not_equal:
        demand_order(f"{ufunc.__name__}_cpu", x)


def eq(input: T, other: T | Number) -> T:
    """input == other, element by element"""
    return _compare(np.equal, input, other)


def ne(input: T, other: T | Number) -> T:
    """input != other"""
    return _compare(np.not_equal, input, other)


def lt(input: T, other: T | Number) -> T:
    """input < other"""
    return _compare(np.less, input, other)


def le(input: T, other: T | Number) -> T:
    """input <= other"""
    return _compare(np.less_equal, input, other)


def gt(input: T, other: T | Number) -> T:
    """input > other"""
    return _compare(np.greater, input, other)


def ge(input: T, other: T | Number) -> T:
    """input >= other"""
    return _compare(np.greater_equal, input, other)


# ------------------------------------------------------------------------------ kinds of numbers


def isnan(input: T) -> T:
    """Which elements are not a number"""
    return result(input, np.isnan(input.array))


def isinf(input: T) -> T:
    """Which elements are infinite"""
    return result(input, np.isinf(input.array))


def isfinite(input: T) -> T:
    """Which elements are neither infinite nor nan"""
    return result(input, np.isfinite(input.array))


# ------------------------------------------------------------------------------------- whole tensors


def isclose(input: T, other: T, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> T:
    """|input - other| <= atol + rtol * |other|, for elements of one type"""
    if not isinstance(other, TensorBase):
        raise not_a_tensor(other)
    x, y = input.array, other.array
    if x.dtype != y.dtype:
        raise RuntimeError(f"{input.dtype} did not match {other.dtype}")
    if rtol < 0 or atol < 0:
        raise RuntimeError(f"rtol and atol must be at least zero, but got {rtol} and {atol}")

    def close(x: Array, y: Array) -> Array:
        wide: Any = np.complex128 if x.dtype.kind == "c" else np.float64
        return np.asanyarray(np.isclose(x.astype(wide), y.astype(wide), rtol, atol, equal_nan))

    return result(on_result_device(input, other), compute(close, x, y))


def allclose(input: T, other: T, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Whether `isclose` holds everywhere"""
    return _holds(isclose(input, other, rtol, atol, equal_nan).array, "allclose()")


def _holds(each: Array, name: str) -> bool:
    if not has_numbers(each):
        raise NumbersNeeded(name)
    return bool(each.all())


def equal(input: T, other: T) -> bool:
    """Whether both have the same shape and the same elements"""
    if not isinstance(other, TensorBase):
        raise not_a_tensor(other)
    on_result_device(input, other)
    x, y = input.array, other.array
    if observers.operations:
        observers.operated("equal", (x, y), ())
    return x.shape == y.shape and _holds(np.asanyarray(x == y), "equal()")


# ----------------------------------------------------------------------------------------- choosing


@overload
def where(condition: T) -> tuple[T, ...]: ...
@overload
def where(condition: T, input: T | Number, other: T | Number) -> T: ...
def where(condition: T, input: T | Number | None = None, other: T | Number | None = None) -> Any:
    """`input` where the condition holds, `other` elsewhere; alone: the indices where it holds

    Args:
        condition: A tensor of bools.
        input: The elements where it holds.
        other: The elements where it does not.

    Returns:
        The tensor, or a tuple of indices.

    Example:
        >>> torch.where(torch.tensor([True, False]), torch.ones(2), torch.zeros(2)).tolist()
        [1.0, 0.0]
    """
    if input is None and other is None:
        found = np.nonzero(np.atleast_1d(condition.array))
        return tuple(result(condition, index) for index in found)
    if input is None or other is None:
        raise TypeError("where() needs both `input` and `other`, or neither")
    return choose(input, condition, other)


def choose(input: Any, condition: T, other: Any) -> T:
    """`input` where the condition holds, `other` elsewhere"""
    c = condition.array
    if c.dtype.kind != "b":
        raise RuntimeError(f"where(): the condition must be of bools, not of {condition.dtype}")
    if not isinstance(input, TensorBase) and not isinstance(other, TensorBase):
        dtype = dtypes.promote_types(dtypes.of_scalar(input), dtypes.of_scalar(other))
        return result(condition, np.where(c, dtype.numpy.type(input), dtype.numpy.type(other)))
    first: T
    second: T
    first, second = promote(input, other)
    x, y = first.array, second.array
    try:
        out = np.where(c, x, y)
    except ValueError:
        shapes = ", ".join(str(list(each.shape)) for each in (c, x, y))
        raise RuntimeError(f"where(): the shapes {shapes} do not broadcast") from None
    if condition.storage.device is not first.storage.device or condition.plain is not first.plain:
        common_device((condition, first, second))
    a, b, zero = x.shape, y.shape, x.dtype.type(0)
    return record(
        out,
        "WhereBackward0",
        (first, lambda g: sum_to(np.where(c, g, zero), a), condition),
        (second, lambda g: sum_to(np.where(c, zero, g), b), condition),
    )
