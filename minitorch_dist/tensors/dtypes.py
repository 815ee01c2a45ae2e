"""Element types and torch's promotion rules.

A `dtype` is a named wrapper around a numpy dtype. The rules differ from numpy's in three places:
an int64 meets a float32 and yields float32 (numpy: float64); a 0-dim tensor or a Python number
only changes the result's type when it is of a higher *category* (bool < int < float < complex); and
float16 meets bfloat16 in float32. A complex type is a pair of floats, and promotes as these do.
"""

from __future__ import annotations

from typing import Any, Final

import ml_dtypes
import numpy as np

from minitorch_dist.tensors.core.base import type_name as type_name

BOOL, INTEGRAL, FLOATING, COMPLEX = 0, 1, 2, 3  # categories, lowest first


class dtype:
    """An element type. There is one object per type, so compare with `is` or `==`."""

    __slots__ = ("category", "is_complex", "is_floating_point", "is_signed", "itemsize", "name", "numpy")

    def __init__(self, name: str, numpy_dtype: Any, category: int) -> None:
        self.name = name
        self.numpy: np.dtype[Any] = np.dtype(numpy_dtype)
        self.category = category
        self.is_floating_point = category == FLOATING
        self.is_complex = category == COMPLEX
        self.is_signed = name not in ("uint8", "bool")
        self.itemsize: int = self.numpy.itemsize

    def __repr__(self) -> str:
        return f"torch.{self.name}"  # torch's spelling, so that what is printed can be compared

    def __reduce__(self) -> tuple[Any, ...]:
        return (by_name, (self.name,))


float16 = dtype("float16", np.float16, FLOATING)
bfloat16 = dtype("bfloat16", ml_dtypes.bfloat16, FLOATING)
float32 = dtype("float32", np.float32, FLOATING)
float64 = dtype("float64", np.float64, FLOATING)
complex64 = dtype("complex64", np.complex64, COMPLEX)
complex128 = dtype("complex128", np.complex128, COMPLEX)
uint8 = dtype("uint8", np.uint8, INTEGRAL)
int8 = dtype("int8", np.int8, INTEGRAL)
int16 = dtype("int16", np.int16, INTEGRAL)
int32 = dtype("int32", np.int32, INTEGRAL)
int64 = dtype("int64", np.int64, INTEGRAL)
bool_ = dtype("bool", np.bool_, BOOL)

ALL: Final = (bool_, uint8, int8, int16, int32, int64, float16, bfloat16, float32, float64, complex64, complex128)
BY_NAME: Final = {d.name: d for d in ALL}
FROM_NUMPY: Final = {d.numpy: d for d in ALL}
HALVES: Final = (float16.numpy, bfloat16.numpy)

_default = float32


def by_name(name: str) -> dtype:
    return BY_NAME[name]


def from_numpy(numpy_dtype: np.dtype[Any]) -> dtype:
    """The dtype of a numpy array, or TypeError with the list of what a tensor can hold."""
    found = FROM_NUMPY.get(numpy_dtype)
    if found is None:
        names = ", ".join(d.name for d in reversed(ALL))
        raise TypeError(f"can't convert np.ndarray of type {numpy_dtype}. The only supported types are: {names}.")
    return found


def get_default_dtype() -> dtype:
    return _default


def set_default_dtype(d: dtype) -> None:
    """Choose the type of new floating tensors and of int-tensor-meets-Python-float."""
    global _default
    if not isinstance(d, dtype) or not d.is_floating_point:
        raise TypeError(f"only floating-point types are supported as the default type, got {d!r}")
    _default = d


_INTEGERS = (int8, int16, int32, int64)  # by width, for promotion


def to_complex(d: dtype) -> dtype:
    """The complex type whose two parts have this floating type (there is none of halves)."""
    return complex128 if d is float64 or d is complex128 else complex64


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The smallest type that holds both, as torch orders them."""
    if type1 is type2:
        return type1
    if type1.category != type2.category:
        higher, lower = (type1, type2) if type1.category > type2.category else (type2, type1)
        return complex128 if higher.is_complex and lower is float64 else higher
    if type1.category >= FLOATING:
        if type1.itemsize == type2.itemsize:  # float16 and bfloat16: neither holds the other
            return float32
        return type1 if type1.itemsize > type2.itemsize else type2
    if uint8 in (type1, type2):  # unsigned meets signed: one step wider, at least int16
        signed = type2 if type1 is uint8 else type1
        return int16 if signed is int8 else signed
    return type1 if type1.itemsize > type2.itemsize else type2


def of_scalar(value: object) -> dtype:
    """The type a Python (or numpy) number would have as a tensor of its own."""
    if isinstance(value, (bool, np.bool_)):
        return bool_
    if isinstance(value, (int, np.integer)):
        return int64
    return to_complex(_default) if isinstance(value, (complex, np.complexfloating)) else _default


def result_of(dimensioned: dtype | None, zero_dim: dtype | None, scalar: dtype | None) -> dtype:
    """Promote by priority: tensors with dimensions, then 0-dim tensors, then Python numbers.

    A lower priority counts only if its category is higher than all before it. If that makes a floating
    type complex, its parts keep their type.
    """
    result: dtype | None = None
    for candidate in (dimensioned, zero_dim, scalar):
        if candidate is None:
            continue
        if result is None or candidate.category > result.category:
            meets_float = result is not None and result.is_floating_point
            result = to_complex(result) if result and meets_float else candidate
    assert result is not None, "nothing to promote"
    return result
