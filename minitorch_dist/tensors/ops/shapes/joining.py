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
from minitorch_dist.tensors.ops.shapes.reshaping import reshape
from minitorch_dist.tensors.promotion import converted


def _checked(tensors: Any, name: str) -> list[Any]:
    given = tensors if isinstance(tensors, (list, tuple)) else [tensors]
    if given is not tensors or not all(isinstance(each, TensorBase) for each in given):
        kinds = ", ".join(type(each).__name__ for each in given)
        raise TypeError(f"{name}() takes a list or tuple of tensors, but got {kinds}")
    if not given:
        error = ValueError if name == "cat" else RuntimeError  # as torch
        raise error(f"torch.{name}(): expected a non-empty list of Tensors")
    return list(tensors)


def _together(tensors: Sequence[TensorBase]) -> list[Array]:
    """The arrays in the type that holds them all."""
    arrays = [t.array for t in tensors]
    if len({a.dtype for a in arrays}) > 1:
        dtype = reduce(dtypes.promote_types, [t.dtype for t in tensors])
        arrays = [a if a.dtype == dtype.numpy else converted(a, dtype) for a in arrays]
    return arrays


def cat(tensors: Sequence[T], dim: int = 0, *, axis: int | None = None) -> T:
    """The tensors one after the other along `dim`. Empty 1-dim tensors are passed over.

    Args:
        tensors: Tensors whose other dimensions are equal.
        dim: The dimension along which they follow each other.
        axis: The same, by numpy's name.

    Returns:
        The tensor.

    Example:
        >>> torch.cat([torch.zeros(1), torch.ones(2)]).tolist()
        [0.0, 1.0, 1.0]
    """
    given: list[T] = _checked(tensors, "cat")
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
    shapes = [t.array.shape for t in tensors]
    first = next((s for s in shapes if s != (0,)), shapes[0])
    if () in shapes:
        raise RuntimeError(f"zero-dimensional tensor (at position {shapes.index(())}) cannot be concatenated")
    place = 0 if first == (0,) else axis(dim, len(first))
    if all(shape == first for shape in shapes):
        return place
    for number, shape in enumerate(shapes):
        fits = len(shape) == len(first) and all(
            a == b or i == place for i, (a, b) in enumerate(zip(first, shape, strict=True))
        )
        if not (fits or shape == (0,)):
            raise RuntimeError(f"cat along {place}: {list(shape)} at entry {number} does not go with {list(first)}")
    return place


concat = cat


def stack(tensors: Sequence[T], dim: int = 0) -> T:
    """Tensors of one shape side by side along a new dimension.

    Args:
        tensors: Tensors of one shape.
        dim: The place of the new dimension.

    Returns:
        The tensor.

    Example:
        >>> torch.stack([torch.zeros(2), torch.ones(2)]).shape
        torch.Size([2, 2])
    """
    given: list[T] = _checked(tensors, "stack")
    first = given[0].array.shape
    for number, tensor in enumerate(given):
        if tensor.array.shape != first:
            found = f"{list(first)} at entry 0 and {list(tensor.array.shape)} at entry {number}"
            raise RuntimeError(f"stack expects each tensor to be equal size, but got {found}")
    place = axis(dim, len(first) + 1)
    arrays = _together(given)
    kinds = [t.array.dtype for t in given]

    def backward(grad: Array) -> list[Array]:
        parts = np.moveaxis(grad, place, 0)
        return [np.asanyarray(p).astype(k, copy=False) for p, k in zip(parts, kinds, strict=True)]

    return record_joint(np.stack(arrays, place), "StackBackward0", given, backward)


def vstack(tensors: Sequence[T]) -> T:
    """Joined along the first dimension, numbers and vectors as rows."""
    rows: list[T] = _checked(tensors, "vstack")
    return cat([t if t.array.ndim > 1 else reshape(t, (1, -1)) for t in rows], 0)
