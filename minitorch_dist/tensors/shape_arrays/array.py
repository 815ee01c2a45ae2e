"""The type: a numpy array over addresses that are reserved and never written.

Shape, strides and element type are numpy's own. So views, slices, transposes and `reshape` are numpy's own, too, and
`nbytes` says what the numbers would take. Only the numbers are missing. All arrays lie at the same addresses, which the
system has given to this process to read and which hold no memory.

    x = ShapeArray((8192, 4096), np.float32)
    (x @ x.T).shape          (8192, 8192), at once

numpy asks `__array_ufunc__` and `__array_function__` before it computes; `answers` and `functions` answer. A function of numpy
that is written in Python and has no rule runs as it is, by way of `super().__array_function__`.
A caller that needs a number gets `NumbersNeeded`. `x.any()` and `x.all()` of a whole array are an exception: operations
ask them to refuse wrong values, and here no value is wrong. As a condition `any` is False, and `all` is True.
"""

from __future__ import annotations

import mmap
import sys
from pathlib import Path
from types import EllipsisType
from typing import Any, Final

import numpy as np
from numpy.lib.stride_tricks import as_strided

_MOST: Final = 1 << 46  # bytes of addresses; a process has 2⁴⁷
_PACKAGE: Final = str(Path(__file__).parents[2])
_reserved: list[mmap.mmap] = []


class NumbersNeeded(NotImplementedError):
    """Something asked for the numbers of an array that has none."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what} needs numbers, and this array has only a shape and a type{_caller()}. In a simulation with "
            "shapes=True, sim.value(tensor, default) gives a number in its place."
        )


def _caller() -> str:
    """The line outside of this package and of numpy that asked."""
    frame = sys._getframe(2)
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith((_PACKAGE, str(Path(np.__file__).parent), "<")):
            return f" (asked at {Path(name).name}:{frame.f_lineno})"
        if frame.f_back is None:
            break
        frame = frame.f_back
    return ""


def addresses() -> mmap.mmap:
    """Addresses that can be read and hold nothing; fewer where the system does not give as many."""
    if not _reserved:
        size = _MOST
        while True:
            try:
                _reserved.append(_reserve(size))
                break
            except (OSError, OverflowError, ValueError):
                size //= 2
                if size < 1 << 20:
                    raise
    return _reserved[0]


def _reserve(size: int) -> mmap.mmap:
    if sys.platform == "win32":
        return mmap.mmap(-1, size, access=mmap.ACCESS_READ)
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)
    return mmap.mmap(-1, size, flags=flags, prot=mmap.PROT_READ)


class Flags:
    """An array's flags, but for `writeable`: the addresses are read-only, and the array is not."""

    def __init__(self, array: ShapeArray) -> None:
        object.__setattr__(self, "_array", array)

    @property
    def writeable(self) -> bool:
        """Whether each place has an address of its own, as numpy has it for what it broadcasts."""
        x = self._array
        return not any(step == 0 and side > 1 for side, step in zip(x.shape, x.strides, strict=True))

    def __getattr__(self, name: str) -> Any:
        return getattr(np.ndarray.flags.__get__(self._array), name)

    def __setattr__(self, name: str, value: object) -> None:
        pass  # to allow or to forbid writing changes nothing here

    def __getitem__(self, name: str) -> Any:
        return self.writeable if name in ("W", "WRITEABLE") else np.ndarray.flags.__get__(self._array)[name]


class ShapeArray(np.ndarray[Any, Any]):
    """A shape, an element type and strides."""

    is_unwritten = True  # for a simulated network: its bytes need no copy
    is_scalar = False  # where numpy would give a number and no array: a ledger does not count it
    answer: bool | None = None  # of `any` and `all`: what they are as a condition

    def __new__(cls, shape: Any, dtype: Any, strides: tuple[int, ...] | None = None) -> ShapeArray:
        try:
            return super().__new__(cls, shape, dtype, addresses(), 0, strides)
        except TypeError:
            most = f"{len(addresses()):,} bytes of addresses"
            raise MemoryError(f"an array of shape {tuple(shape)} is larger than the {most} of this process") from None

    @property
    def flags(self) -> Any:
        return Flags(self)

    # --------------------------------------------------------------------------- numpy's protocols

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        return HANDLERS["ufunc"](ufunc, method, inputs, options)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        rule = HANDLERS["function"](func)
        if rule is None:
            return super().__array_function__(func, types, args, kwargs)
        return rule(*args, **kwargs)

    # ------------------------------------------------------------------------------------- windows

    def __getitem__(self, key: Any) -> Any:
        if is_window(key):
            found = super().__getitem__(key)
            if isinstance(found, np.ndarray):
                return found
            found = super().__getitem__((*key, ...) if isinstance(key, tuple) else (key, ...))
            assert isinstance(found, ShapeArray)
            found.is_scalar = True
            return found
        return HANDLERS["select"](self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        if not has_mask(key):  # of a mask the numbers would say how many places it names
            np.copyto(self[key], value, casting="unsafe")

    def __iter__(self) -> Any:
        if not self.ndim:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self)))

    def window(self, shape: Any, strides: Any) -> ShapeArray:
        """Another shape, with other strides, at the same place."""
        return as_strided(self, shape, strides, subok=True)  # type: ignore[return-value]

    # ------------------------------------------------------------------------------ one number of it

    def _refuse(self, *args: Any, **kwargs: Any) -> Any:
        raise NumbersNeeded(f"{np.dtype(self.dtype)}{list(self.shape)} as plain Python values")

    item = tolist = tobytes = __float__ = __int__ = __index__ = __complex__ = __contains__ = _refuse

    def __bool__(self) -> bool:
        if self.answer is None:
            raise NumbersNeeded(f"a condition on {self.dtype}{list(self.shape)}")
        return self.answer

    def any(self, *args: Any, **kwargs: Any) -> Any:
        out = super().any(*args, **kwargs)
        if not out.ndim:
            out.answer = False
        return out

    def all(self, *args: Any, **kwargs: Any) -> Any:
        out = super().all(*args, **kwargs)
        if not out.ndim:
            out.answer = True
        return out

    def __repr__(self) -> str:
        return f"<ShapeArray {self.dtype}{list(self.shape)}>"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return repr(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return ShapeArray, (self.shape, self.dtype, self.strides)

    def __deepcopy__(self, memo: Any) -> ShapeArray:
        return self.copy()

    def __copy__(self) -> ShapeArray:
        return self.copy()


HANDLERS: Final[dict[str, Any]] = {}  # `answers`, `functions` and `selection` enter themselves


def has_numbers(array: object) -> bool:
    """Whether its elements can be read."""
    return not isinstance(array, ShapeArray)


def is_window(key: Any) -> bool:
    """Whether indexing with `key` gives a view: integers, slices, None and Ellipsis."""
    items = key if isinstance(key, tuple) else (key,)
    return all(
        item is None
        or isinstance(item, (slice, EllipsisType, np.integer))
        or (isinstance(item, int) and not isinstance(item, bool))
        for item in items
    )


def has_mask(key: Any) -> bool:
    """Whether a mask without numbers is part of an index."""
    items = key if isinstance(key, tuple) else (key,)
    return any(isinstance(item, ShapeArray) and item.dtype == np.bool_ for item in items)
