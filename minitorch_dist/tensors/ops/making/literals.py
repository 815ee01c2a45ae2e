"""From what people write down (numbers, nested lists, numpy arrays) to an array with torch's type.

The type is inferred as torch infers it: Python floats become the default dtype, ints int64, bools
bool; numpy scalars and arrays keep their own. Mixed lists take the highest of these.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.core.base import Array, TensorBase
from minitorch_dist.tensors.promotion import converted

OF_PYTHON: Final[dict[type, dtypes.dtype]] = {
    float: dtypes.float64, int: dtypes.int64, bool: dtypes.bool_, complex: dtypes.complex128,
}  # fmt: skip


class NoNumbers(TypeError, ValueError):
    """These lists are no table of numbers. (torch raises one or the other of the two errors.)"""


def as_dtype(given: Any) -> dtypes.dtype:
    """A dtype argument: ours, or one of Python's `float`, `int`, `bool`, `complex`."""
    found = OF_PYTHON.get(given) if isinstance(given, type) else given
    if not isinstance(found, dtypes.dtype):
        raise TypeError(f"argument 'dtype' must be torch.dtype, not {type(given).__name__}")
    return found


def check_array(array: Array) -> Array:
    """A numpy array that a tensor could share memory with, or torch's refusal."""
    dtypes.from_numpy(array.dtype)
    if any(s < 0 for s in array.strides):
        raise ValueError("an array with negative strides cannot be shared: make a copy with array.copy()")
    return array


def parse(data: Any, dtype: dtypes.dtype | None = None) -> Array:
    """A new array with the values of `data`."""
    if isinstance(data, (np.ndarray, np.generic)):
        return _copied(check_array(np.asarray(data)), dtype)
    if isinstance(data, TensorBase):
        return _copied(data.array, dtype)
    try:
        found = np.array(data if _is_plain(data) else _plain(data))
    except ValueError:
        raise NoNumbers("expected sequences of one length at each depth, and numbers in them") from None
    except OverflowError:
        raise ValueError("Overflow when unpacking long long") from None
    if found.dtype == np.uint64 or (found.dtype.kind == "O" and isinstance(found.flat[0], int)):
        raise ValueError("Overflow when unpacking long long")
    if found.dtype.kind in "OUSMm":
        error = NoNumbers if found.dtype.kind == "U" else RuntimeError
        raise error(f"Could not infer dtype of {type(found.flat[0]).__name__}")
    return _stored(found, dtype or _inferred(data, found))


def _copied(array: Array, dtype: dtypes.dtype | None) -> Array:
    return array.copy(order="K") if dtype is None else converted(array, dtype)


def _is_plain(data: Any) -> bool:
    """Whether the first leaf is a Python number, so that numpy can look at the others itself."""
    return type(_first_leaf(data)) in (int, float, bool) and not _holds_tensors(data)


def _holds_tensors(data: Any) -> bool:
    return type(data) in (list, tuple) and any(
        isinstance(x, TensorBase) or (type(x) in (list, tuple) and _holds_tensors(x)) for x in data
    )


def _first_leaf(data: Any) -> Any:
    while isinstance(data, Sequence) and not isinstance(data, (str, bytes)) and len(data):
        data = data[0]
    return data


def _plain(data: Any) -> Any:
    """Nested lists whose tensors, each of one element, are numbers of numpy."""
    if isinstance(data, TensorBase):
        if data.array.size != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return data.array.reshape(())[()]
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return [_plain(item) for item in data]
    return data


def _inferred(data: Any, array: Array) -> dtypes.dtype:
    """The type of what numpy has collected: Python's floats get the default, numpy's numbers keep theirs."""
    if isinstance(_first_leaf(data), (np.ndarray, np.generic, TensorBase)):
        return functools.reduce(dtypes.promote_types, _types(data))
    return dtypes.of_scalar(array.dtype.type().item()) if array.size else dtypes.get_default_dtype()


def _types(data: Any) -> Iterator[dtypes.dtype]:
    """The type of each leaf."""
    if isinstance(data, TensorBase):
        yield data.dtype
    elif isinstance(data, (np.ndarray, np.generic)):
        yield dtypes.from_numpy(data.dtype)
    elif isinstance(data, Sequence):
        for item in data:
            yield from _types(item)
    else:
        yield dtypes.of_scalar(data)


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
