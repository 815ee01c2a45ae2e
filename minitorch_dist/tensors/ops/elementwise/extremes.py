"""The larger and the smaller of two, element by element; and bounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.core.base import Array, Number, T, TensorBase
from minitorch_dist.tensors.core.graph import record
from minitorch_dist.tensors.core.operations import compute, sum_to
from minitorch_dist.tensors.core.views import inplace
from minitorch_dist.tensors.masks import only
from minitorch_dist.tensors.promotion import (
    as_element,
    cast,
    demand_order,
    not_a_tensor,
    not_implemented,
    promote,
    result_type,
)

Share = Callable[[Array, Array, Array], Any]


def _pick(ufunc: np.ufunc, name: str, input: T, other: T, first: Share, second: Share) -> T:
    """One of both. `first` and `second` say what of the gradient goes to `input` and to `other`."""
    if not isinstance(other, TensorBase):
        raise not_a_tensor(other)
    input, other = promote(input, other)
    x, y = input.array, other.array
    demand_order(f"{ufunc.__name__}_cpu", x)
    return record(
        compute(ufunc, x, y),
        name,
        (input, lambda g: sum_to(first(g, x, y), x.shape), input, other),
        (other, lambda g: sum_to(second(g, x, y), y.shape), input, other),
    )


def _not_below(g: Array, x: Array, y: Array) -> Any:
    """All of it where x is above y or beside nan, and half of it where they are equal."""
    return only(_halved(g, x == y), ~(x < y))


def _not_above(g: Array, x: Array, y: Array) -> Any:
    return only(_halved(g, x == y), ~(x > y))


def _halved(g: Array, mask: Array) -> Any:
    return g * np.where(mask, g.dtype.type(0.5), g.dtype.type(1))


def maximum(input: T, other: T) -> T:
    """The larger of both; nan if either is nan"""
    return _pick(np.maximum, "MaximumBackward0", input, other, _not_below, _not_above)


def minimum(input: T, other: T) -> T:
    """The smaller of both; nan if either is nan"""
    return _pick(np.minimum, "MinimumBackward0", input, other, _not_above, _not_below)


# ------------------------------------------------------------------------------------------- bounds


def clamp(input: T, min: Number | None = None, max: Number | None = None) -> T:
    """`input`, but not below `min` and not above `max` (which wins where the two cross)"""
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if isinstance(min, TensorBase) or isinstance(max, TensorBase):
        raise TypeError("clamp() takes numbers as bounds: take maximum() and minimum() for tensors")
    input, low, high = _bounded(input, min, max)
    x = input.array

    def inside(g: Array) -> Any:
        return only(g, x >= low if high is None else x <= high if low is None else (x >= low) & (x <= high))

    return record(clipped(x, low, high), "ClampBackward1", (input, inside, input))


def clipped(x: Array, low: Array | None, high: Array | None, out: Array | None = None) -> Any:
    if low is not None:
        x = beside_number(np.maximum, x, low, out)
    if high is not None:
        x = beside_number(np.minimum, x, high, out)
    return x


ROW = 1024


def beside_number(ufunc: np.ufunc, x: Array, number: Any, out: Array | None = None) -> Any:
    """ufunc(x, number), where ufunc is a maximum or minimum.

    numpy is six times slower with a number here than with an array. So the number becomes a row,
    and x a stack of rows.
    """
    if x.size < 4 * ROW or not x.flags.c_contiguous:
        return ufunc(x, number, out=out)
    if out is None:
        out = np.empty_like(x)
    flat, into, end = x.reshape(-1), out.reshape(-1), x.size - x.size % ROW
    row = np.full(ROW, number, x.dtype, like=x)
    ufunc(flat[:end].reshape(-1, ROW), row, out=into[:end].reshape(-1, ROW))
    ufunc(flat[end:], number, out=into[end:])
    return out


def _bounded(input: T, min: Any, max: Any) -> tuple[T, Any, Any]:
    """The tensor in the type of the result, and the bounds as elements of that type."""
    dtype = input.dtype
    if dtype.category != dtypes.FLOATING:
        for bound in (min, max):
            if bound is not None:
                dtype = dtypes.promote_types(dtype, result_type(input, bound))
        input = cast(input, dtype)
        if dtype.category in (dtypes.BOOL, dtypes.COMPLEX):
            name = "clamp_max" if min is None else "clamp_min" if max is None else "clamp"
            raise not_implemented(f"{name}_scalar_cpu", input.array)
    return input, as_element(min, dtype), as_element(max, dtype)


def clamp_min(input: T, min: Number) -> T:
    """`input`, but not below `min`"""
    return clamp(input, min=min)


def clamp_max(input: T, max: Number) -> T:
    """`input`, but not above `max`"""
    return clamp(input, max=max)


clamp_ = inplace(clamp)
