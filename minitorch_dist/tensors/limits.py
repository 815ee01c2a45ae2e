"""The limits of the types of elements: `finfo` of floating and complex types, `iinfo` of integers."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.dtypes import dtype


class finfo:
    """Machine limits of a floating type."""

    def __init__(self, d: dtype | None = None) -> None:
        d = d or dtypes.get_default_dtype()
        if d.is_complex:  # the limits of its parts
            d = dtypes.float64 if d is dtypes.complex128 else dtypes.float32
        if not d.is_floating_point:
            raise TypeError(f"finfo is only defined for floating types, got {d!r}; use iinfo")
        info = ml_dtypes.finfo(d.numpy)  # type: ignore[no-untyped-call]
        self.dtype = d.name
        self.bits: int = d.itemsize * 8
        self.eps, self.max, self.min = float(info.eps), float(info.max), float(info.min)
        self.tiny = self.smallest_normal = float(info.smallest_normal)
        self.resolution = float(f"1e-{info.precision}")

    def __repr__(self) -> str:
        names = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        shown = ", ".join(f"{name}={getattr(self, name):g}" for name in names)
        return f"finfo({shown}, dtype={self.dtype})"


def range_of(d: dtype) -> tuple[int, int]:
    """The smallest and the largest whole number that a type has."""
    if d.is_floating_point:
        return int(finfo(d).min), int(finfo(d).max)
    if d is dtypes.bool_:
        return 0, 1
    return iinfo(d).min, iinfo(d).max


class iinfo:
    """Machine limits of an integer type."""

    def __init__(self, d: dtype) -> None:
        if d.category != dtypes.INTEGRAL:
            raise TypeError(f"iinfo is only defined for integer types, got {d!r}; use finfo")
        info = np.iinfo(d.numpy)
        self.dtype = d.name
        self.bits: int = d.itemsize * 8
        self.min, self.max = int(info.min), int(info.max)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"
