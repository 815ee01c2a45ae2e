"""Several tensors become one: joined along a dimension, or stacked along a new one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.autograd.joint import record_joint
from minitorch_dist.tensors.core.base import Array, T, TensorBase
from minitorch_dist.tensors.core.operations import axis
from minitorch_dist.tensors.ops.elementwise.copying import convert
from minitorch_dist.tensors.ops.shapes.reshaping import reshape, unsqueeze


def _checked(tensors: Any, name: str) -> list[Any]:
    if not isinstance(tensors, (list, tuple)):
        raise TypeError(
            f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not "
            f"{type(tensors).__name__ if not isinstance(tensors, TensorBase) else 'Tensor'}"
        )
    for place, tensor in enumerate(tensors):
        if not isinstance(tensor, TensorBase):
            raise TypeError(
                f"expected Tensor as element {place} in argument 0, but got {type(tensor).__name__}"
            )
    return list(tensors)


def _together(tensors: Sequence[TensorBase]) -> list[Array]:
    """The arrays in the type that holds them all."""
    arrays = [t.array for t in tensors]
    if len({a.dtype for a in arrays}) > 1:
        dtype = reduce(dtypes.promote_types, [t.dtype for t in tensors])
        arrays = [a if a.dtype == dtype.numpy else convert(a, dtype) for a in arrays]
    return arrays


def cat(tensors: Sequence[T], dim: int = 0, *, axis: int | None = None) -> T:
    """The tensors one after the other along `dim`. Empty 1-dim tensors are passed over."""
    given: list[T] = _checked(tensors, "cat")
    if not given:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    arrays = _together(given)
    place = _place(given, dim if axis is None else axis)
    kept = [a for a in arrays if a.shape != (0,)] or arrays[:1]
    out = np.concatenate(kept, place)
    shapes = [t.array.shape for t in given]
    kinds = [t.array.dtype for t in given]

    def backward(grad: Array) -> list[Array]:
        parts, start, front = [], 0, (slice(None),) * place
        for shape, kind in zip(shapes, kinds, strict=True):
            if shape == (0,):  # may have been passed over
                parts.append(np.zeros(0, kind, like=grad))
                continue
            stop = start + shape[place]
            parts.append(grad[(*front, slice(start, stop))].astype(kind, copy=False))
            start = stop
        return parts

    return record_joint(out, "CatBackward0", given, backward)


def _place(tensors: Sequence[TensorBase], dim: int) -> int:
    """The axis to join along, after checking that the shapes fit."""
    for number, tensor in enumerate(tensors):
        if not tensor.array.ndim:
            raise RuntimeError(
                f"zero-dimensional tensor (at position {number}) cannot be concatenated"
            )
    shapes = [t.array.shape for t in tensors]
    first = next((s for s in shapes if s != (0,)), shapes[0])
    place = 0 if first == (0,) else axis(dim, len(first))
    if all(shape == first for shape in shapes):
        return place
    for number, shape in enumerate(shapes):
        if shape == (0,):
            continue
        if len(shape) != len(first):
            raise RuntimeError(
                f"Tensors must have same number of dimensions: got {len(first)} and {len(shape)}"
            )
        for i, (a, b) in enumerate(zip(first, shape, strict=True)):
            if a != b and i != place:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {place}. Expected size {a} "
                    f"but got size {b} for tensor number {number} in the list."
                )
    return place


def concat(tensors: Sequence[T], dim: int = 0, *, axis: int | None = None) -> T:
    """`cat`, under another name."""
    return cat(tensors, dim, axis=axis)


def concatenate(tensors: Sequence[T], dim: int = 0, *, axis: int | None = None) -> T:
    """`cat`, under numpy's name."""
    return cat(tensors, dim, axis=axis)


def stack(tensors: Sequence[T], dim: int = 0) -> T:
    """Tensors of one shape side by side along a new dimension."""
    given: list[T] = _checked(tensors, "stack")
    if not given:
        raise RuntimeError("stack expects a non-empty TensorList")
    first = given[0].array.shape
    for number, tensor in enumerate(given):
        if tensor.array.shape != first:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 and "
                f"{list(tensor.array.shape)} at entry {number}"
            )
    place = axis(dim, len(first) + 1)
    arrays = _together(given)
    kinds = [t.array.dtype for t in given]

    def backward(grad: Array) -> list[Array]:
        parts = np.moveaxis(grad, place, 0)
        return [np.asanyarray(p).astype(k, copy=False) for p, k in zip(parts, kinds, strict=True)]

    return record_joint(np.stack(arrays, place), "StackBackward0", given, backward)


# ----------------------------------------------------------------------------------- numpy's habits


def at_least(count: int, input: T) -> T:
    """With dimensions of length 1 added until there are `count`, where numpy puts them."""
    n = input.array.ndim
    if n >= count:
        return input
    if n == 0:
        return reshape(input, (1,) * count)
    if count == 2:
        return unsqueeze(input, 0)
    return unsqueeze(unsqueeze(input, 0), -1) if n == 1 else unsqueeze(input, -1)


def _each(count: int, tensors: tuple[Any, ...]) -> Any:
    if len(tensors) == 1 and isinstance(tensors[0], TensorBase):
        return at_least(count, tensors[0])
    many = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
    return tuple([at_least(count, t) for t in _checked(many, f"atleast_{count}d")])


def atleast_1d(*tensors: Any) -> Any:
    """With at least one dimension; several tensors give a tuple."""
    return _each(1, tensors)


def atleast_2d(*tensors: Any) -> Any:
    """With at least two dimensions; several tensors give a tuple."""
    return _each(2, tensors)


def atleast_3d(*tensors: Any) -> Any:
    """With at least three dimensions; several tensors give a tuple."""
    return _each(3, tensors)


def hstack(tensors: Sequence[T]) -> T:
    """Joined along the second dimension (vectors: along the first)."""
    given: list[T] = _some(tensors, "hstack")
    parts = [at_least(1, t) for t in given]
    return cat(parts, 0 if parts[0].array.ndim == 1 else 1)


def vstack(tensors: Sequence[T]) -> T:
    """Joined along the first dimension, vectors as rows."""
    given: list[T] = _some(tensors, "vstack")
    return cat([at_least(2, t) for t in given], 0)


def row_stack(tensors: Sequence[T]) -> T:
    """`vstack`, under another name."""
    return vstack(tensors)


def dstack(tensors: Sequence[T]) -> T:
    """Joined along the third dimension."""
    given: list[T] = _some(tensors, "dstack")
    return cat([at_least(3, t) for t in given], 2)


def column_stack(tensors: Sequence[T]) -> T:
    """Joined along the second dimension, vectors as columns."""
    given: list[T] = _some(tensors, "column_stack")
    return hstack([t if t.array.ndim > 1 else reshape(t, (t.array.size, 1)) for t in given])


def _some(tensors: Any, name: str) -> list[Any]:
    given = _checked(tensors, name)
    if not given:
        raise RuntimeError(f"{name} expects a non-empty TensorList")
    return given
