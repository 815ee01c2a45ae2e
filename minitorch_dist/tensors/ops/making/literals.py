"""From what people write down (numbers, nested lists, numpy arrays) to an array with torch's type.

The type is inferred as torch infers it: Python floats become the default dtype, ints int64, bools
bool; numpy scalars and arrays keep their own. Mixed lists take the highest of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.core.base import Array, TensorBase
from minitorch_dist.tensors.promotion import converted, tell_discarded

_NEGATIVE = (
    "At least one stride in the given numpy array is negative, and tensors with negative strides "
    "are not currently supported. (You can probably work around this by making a copy of your "
    "array with array.copy().)"
)


def as_dtype(given: Any) -> dtypes.dtype:
    """A dtype argument: ours, or one of Python's `float`, `int`, `bool`, `complex`."""
    if isinstance(given, dtypes.dtype):
        return given
    if given is float:
        return dtypes.float64
    if given is int:
        return dtypes.int64
    if given is bool:
        return dtypes.bool_
    if given is complex:
        return dtypes.complex128
    raise TypeError(f"argument 'dtype' must be torch.dtype, not {type(given).__name__}")


def check_array(array: Array) -> Array:
    """A numpy array that a tensor could share memory with, or torch's refusal."""
    dtypes.from_numpy(array.dtype)
    if any(s < 0 for s in array.strides):
        raise ValueError(_NEGATIVE)
    return array


def parse(data: Any, dtype: dtypes.dtype | None = None) -> Array:
    """A new array with the values of `data`."""
    if isinstance(data, (np.ndarray, np.generic)):
        return _copied(check_array(np.asarray(data)), dtype)
    if isinstance(data, TensorBase):
        return _copied(data.array, dtype)
    if type(data) in (list, tuple) and _is_plain(data):
        try:
            found = np.array(data)
        except (ValueError, OverflowError):
            found = None  # ragged, or too large: the walk below finds the words for it
        if found is not None and found.dtype.char in "dlq?":
            return _stored(found, dtype or _of_python(found))
    shape = _shape(data)
    leaves: list[Any] = []
    _collect(data, shape, 0, leaves)
    own_dtype = dtype or _of_leaves(leaves)
    numbers = [x.item() if isinstance(x, (np.ndarray, np.generic)) else x for x in leaves]
    try:
        flat = np.array(numbers) if numbers else np.empty(0)
    except OverflowError:
        raise ValueError("Overflow when unpacking long long") from None
    if flat.dtype.kind in "uO":
        raise ValueError("Overflow when unpacking long long")
    return _stored(flat.reshape(shape), own_dtype)


def _copied(array: Array, dtype: dtypes.dtype | None) -> Array:
    if array.dtype.kind == "c" and dtype is not None:
        tell_discarded(array, dtype)
        return converted(array, dtype)
    return array.astype(array.dtype if dtype is None else dtype.numpy)


def _is_plain(data: Any) -> bool:
    """Whether the first leaf is a Python number, so that numpy's own inference can be trusted.

    numpy scalars among Python numbers are found out by the dtype: see the caller.
    """
    while type(data) in (list, tuple):
        if not data:
            return False
        data = data[0]
    return type(data) in (int, float, bool)


def _of_python(array: Array) -> dtypes.dtype:
    """The type of Python numbers that numpy has collected in `array`."""
    if array.dtype.kind == "f":
        return dtypes.get_default_dtype()
    return dtypes.bool_ if array.dtype.kind == "b" else dtypes.int64


def _stored(values: Array, dtype: dtypes.dtype) -> Array:
    """`values` in `dtype`, refusing numbers that an integer type cannot hold."""
    if dtype.category == dtypes.INTEGRAL and values.size:
        limits = np.iinfo(dtype.numpy)
        # Unsigned types take negative whole numbers and wrap them, as in C.
        wraps = dtype is dtypes.uint8 and values.dtype.kind != "f"
        low = -int(limits.max) if wraps else int(limits.min)
        if not (values.min() >= low and values.max() <= limits.max):
            raise RuntimeError(f"value cannot be converted to type {dtype.name} without overflow")
    if values.dtype.kind == "c" and not dtype.is_complex:
        raise TypeError("must be real number, not complex")
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(values.astype(dtype.numpy))


# --------------------------------------------------------------------------------- walking nested lists


def _is_sequence(data: Any) -> bool:
    if isinstance(data, (np.ndarray, TensorBase)):
        return _array(data).ndim > 0
    return isinstance(data, Sequence) and not isinstance(data, (str, bytes))


def _array(data: Any) -> Array:
    return np.asarray(data.array if isinstance(data, TensorBase) else data)


def _shape(data: Any) -> tuple[int, ...]:
    """The shape that the first branch of `data` suggests; `_collect` holds the others to it."""
    if isinstance(data, str):
        raise TypeError("new(): invalid data type 'str'")
    shape: list[int] = []
    while _is_sequence(data):
        if isinstance(data, TensorBase):  # a tensor inside a list stands for one number
            break
        if isinstance(data, np.ndarray):
            return (*shape, *data.shape)
        shape.append(len(data))
        if not shape[-1]:
            break
        data = data[0]
        if isinstance(data, str):
            raise ValueError("too many dimensions 'str'")
    return tuple(shape)


def _collect(data: Any, shape: tuple[int, ...], dim: int, leaves: list[Any]) -> None:
    """Append the numbers of `data` to `leaves`, checking every length on the way."""
    if dim == len(shape):
        leaves.append(_leaf(data))
        return
    if not _is_sequence(data):
        raise TypeError(f"not a sequence: {data!r} at dim {dim}, where {shape[dim]} were expected")
    if isinstance(data, (np.ndarray, TensorBase)):
        data = list(_array(data))
    if len(data) != shape[dim]:
        raise ValueError(f"expected sequence of length {shape[dim]} at dim {dim} (got {len(data)})")
    for item in data:
        _collect(item, shape, dim + 1, leaves)


def _leaf(data: Any) -> Any:
    if isinstance(data, (TensorBase, np.ndarray)):
        array = _array(data)
        if array.size != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return array.reshape(())
    if isinstance(data, (bool, int, float, complex, np.generic)):
        return data
    if _is_sequence(data):
        raise TypeError(f"'{type(data).__name__}' object cannot be interpreted as a number")
    raise RuntimeError(f"Could not infer dtype of {type(data).__name__}")


def _of_leaves(leaves: list[Any]) -> dtypes.dtype:
    found: dtypes.dtype | None = None
    kinds = {x.dtype if isinstance(x, (np.ndarray, np.generic)) else type(x) for x in leaves}
    for kind in kinds:
        own = dtypes.from_numpy(kind) if isinstance(kind, np.dtype) else dtypes.of_scalar(kind())
        found = own if found is None else dtypes.promote_types(found, own)
    return found or dtypes.get_default_dtype()
