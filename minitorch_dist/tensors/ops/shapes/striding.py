"""Windows by hand: `as_strided`, and the in-place changes of a tensor's shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided as as_window

from minitorch_dist.tensors.core.base import Array, Storage, T
from minitorch_dist.tensors.core.views import view_of
from minitorch_dist.tensors.ops.shapes import reshaping
from minitorch_dist.tensors.ops.shapes.layout import (
    contiguous_strides,
    data_ptr,
    storage_offset,
    stride,
)
from minitorch_dist.tensors.shape_arrays.array import has_numbers
from minitorch_dist.tensors.storages import root

Shape = tuple[int, ...]


def memory(owner: Array) -> Array:
    """The bytes of an array that owns its memory, in the order in which they lie."""
    if not owner.flags.forc:
        raise RuntimeError(
            "this tensor stands on a foreign buffer with gaps, which cannot be looked at as a whole: "
            "clone() it first"
        )
    return owner.ravel(order="K").view(np.uint8)


def over(owner: Array, dtype: Any, shape: Shape, strides: Shape, offset: int) -> Array:
    """A window on the memory of `owner`; strides and offset in bytes."""
    if not has_numbers(owner):
        return as_window(
            memory(owner)[offset:][: dtype.itemsize].view(dtype), shape, strides, subok=True
        )
    return np.ndarray(shape, dtype, memory(owner), offset, strides)


def as_strided(input: T, size: Any, stride: Any, storage_offset: int | None = None) -> T:
    """The storage's elements under any sizes and strides (which count elements, not bytes)."""
    x, owner = input.array, root(input.storage.array)
    shape, steps = tuple(size), tuple(stride)
    if len(shape) != len(steps) or min(steps, default=0) < 0:
        raise RuntimeError(
            f"as_strided takes a non-negative stride for each size, but got {list(shape)} and {list(steps)}"
        )
    width = x.itemsize
    begin = int(input.storage.array.__array_interface__["data"][0]) - _address(owner)
    first = _offset(input) if storage_offset is None else storage_offset
    last = first + sum((n - 1) * s for n, s in zip(shape, steps, strict=True)) + 1
    if 0 not in shape and begin + last * width > owner.nbytes:
        raise RuntimeError(
            f"setStorage: sizes {list(shape)}, strides {list(steps)}, storage offset {first}, and "
            f"itemsize {width} requiring a storage size of {last * width} are out of bounds for "
            f"storage of size {owner.nbytes - begin}"
        )
    out = over(owner, x.dtype, shape, tuple([s * width for s in steps]), begin + first * width)
    own = (x.shape, _steps(input), _offset(input))
    return view_of(input, out, "AsStridedBackward0", _spread(own, (shape, steps, first), x.dtype))


_offset, _steps = storage_offset, stride  # under names that as_strided's arguments do not hide


def _address(array: Array) -> int:
    return int(array.__array_interface__["data"][0])


Geometry = tuple[Shape, Shape, int]


def _spread(own: Geometry, window: Geometry, dtype: Any) -> Callable[[Array], Array]:
    """The gradient: sum up, at each place of the storage, what the window's elements there get."""

    def places(geometry: Geometry) -> Array:
        shape, steps, offset = geometry
        grid = np.ogrid[tuple(slice(n) for n in shape)]
        at = np.full(shape, offset)
        for index, step in zip(grid, steps, strict=True):
            at += index * step
        return at.ravel()

    def vjp(grad: Array) -> Array:
        if not has_numbers(grad):
            return np.empty(own[0], dtype, like=grad)
        here, there = places(own), places(window)
        count = max((int(p.max()) + 1 for p in (here, there) if p.size), default=0)
        sums = np.bincount(there, grad.astype(np.float64).ravel(), count)
        mentions = np.bincount(here, minlength=count)  # an expanded input shares what it gets
        return (sums[here] / mentions[here]).reshape(own[0]).astype(dtype)

    return vjp


# ------------------------------------------------------------------------ changing a tensor's shape


def resize_(input: T, *shape: Any, size: Any = None, memory_format: Any = None) -> T:
    """Another shape for the elements as they lie; new memory if there are more than before."""
    if input._requires_grad:
        raise RuntimeError("cannot resize variables that require grad")
    shape = reshaping.sizes(shape, "resize_", size)
    x, storage = input.array, input.storage
    owner, start = root(storage.array), data_ptr(input)
    offset = start - _address(owner)
    steps = tuple([s * x.itemsize for s in contiguous_strides(shape)])
    needed = int(np.prod(shape)) * x.itemsize
    if offset + needed > owner.nbytes:
        fresh = np.zeros(needed // x.itemsize, x.dtype, like=x)
        kept = memory(owner)[offset:].view(x.dtype)
        fresh[: len(kept)] = kept
        owner, offset = fresh, 0
        input.storage = Storage(fresh, storage.device)
        input.storage.version = storage.version
    input.array = over(owner, x.dtype, shape, steps, offset)
    return input
