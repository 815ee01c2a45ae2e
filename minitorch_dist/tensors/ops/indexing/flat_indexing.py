"""Single elements by their place in the flattened tensor: `take`, `put`, `unravel_index`."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch_dist.tensors.core import graph
from minitorch_dist.tensors.core.base import Array, T, TensorBase
from minitorch_dist.tensors.core.graph import record, same_device
from minitorch_dist.tensors.dtypes import type_name
from minitorch_dist.tensors.ops.accumulation import add_at
from minitorch_dist.tensors.ops.indexing.overwriting import Change, both, same_gradient, zero_at
from minitorch_dist.tensors.shape_arrays.array import has_numbers


def _flat(x: Array, index: TensorBase, name: str) -> Array:
    at = index.array
    if at.dtype != np.int64:
        raise RuntimeError(
            f"{name}(): Expected a long tensor for index, but got {type_name(at)[6:-6]}"
        )
    if at.size and not x.size:
        raise IndexError(f"{name}(): tried to take from an empty tensor")
    for found in (int(at.min()), int(at.max())) if at.size and has_numbers(at) else ():
        if not -x.size <= found < x.size:
            raise IndexError(
                f"out of range: tried to access index {found} on a tensor of {x.size} elements."
            )
    return np.where(at < 0, at + x.size, at)


def take(input: T, index: TensorBase) -> T:
    """The elements at these places of the flattened tensor."""
    same_device(input, index)
    x = input.array
    at = _flat(x, index, "take")
    shape, dtype = x.shape, x.dtype

    def spread(grad: Array) -> Array:
        whole = np.zeros(shape, dtype, like=grad)
        add_at(whole.reshape(-1), (at.reshape(-1),), grad.reshape(-1))
        return whole

    return record(x.take(at), "TakeBackward0", (input, spread, index))


def _put(input: T, index: TensorBase, source: TensorBase, accumulate: bool = False) -> Change:
    """`source` written (or added) at these places of the flattened tensor."""
    x, y = input.array, source.array
    if x.dtype != y.dtype:
        raise RuntimeError(
            "put_(): self and source expected to have the same dtype, but got self.dtype = "
            f"{type_name(x)[6:-6]} and source.dtype = {type_name(y)[6:-6]}"
        )
    if index.array.size != y.size:
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got "
            f"source.numel() = {y.size}, index.numel() = {index.array.size}"
        )
    where = np.unravel_index(_flat(x, index, "put_").reshape(-1), x.shape) if x.ndim else ()
    shape = y.shape

    def write(array: Array) -> None:
        if accumulate and where:
            add_at(array, where, y.reshape(-1))
        elif accumulate:
            array += y.sum(dtype=y.dtype)
        elif y.size:
            array[where] = y.reshape(-1) if where else y.reshape(-1)[-1]

    keep = same_gradient if accumulate else zero_at(where)
    return Change(
        "PutBackward0", write, keep, source, lambda g: sum_to_like(g[where], shape), (index,)
    )


def sum_to_like(part: Array, shape: tuple[int, ...]) -> Array:
    """A part of a gradient in the shape of what was written there."""
    size = int(np.prod(shape))
    return part.reshape(shape) if part.size == size else np.broadcast_to(part, shape)


put, put_ = both(_put)


def unravel_index(indices: T, shape: Any) -> tuple[T, ...]:
    """For each place in a flattened tensor of `shape`: its index along every dimension."""
    at, sides = indices.array, (shape,) if isinstance(shape, int) else tuple(shape)
    if at.dtype.kind not in "iu":
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    if any(n < 0 for n in sides):
        raise ValueError(f"'shape' cannot have negative values, but got {sides}")
    steps = [int(np.prod(sides[i + 1 :])) for i in range(len(sides))]
    with np.errstate(all="ignore"):
        found = [at // step % side for step, side in zip(steps, sides, strict=True)]
    return tuple([graph.result(indices, f) for f in found])
