"""Triangles and diagonals, repetition, grids, one-hot rows: elements in other places."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minitorch_dist.tensors.core.base import Array, T, TensorBase
from minitorch_dist.tensors.core.graph import record, result
from minitorch_dist.tensors.core.operations import axis
from minitorch_dist.tensors.core.views import inplace
from minitorch_dist.tensors.ops.accumulation import add_at
from minitorch_dist.tensors.ops.elementwise.copying import clone
from minitorch_dist.tensors.ops.shapes import reshaping
from minitorch_dist.tensors.ops.shapes.pieces import diagonal as diagonal_of
from minitorch_dist.tensors.ops.shapes.rearranging import repeat
from minitorch_dist.tensors.promotion import one_number
from minitorch_dist.tensors.shape_arrays.array import has_numbers

# -------------------------------------------------------------------------------------- triangles


def tril(input: T, diagonal: int = 0) -> T:
    """The lower triangle of each matrix, up to `diagonal`; zeros elsewhere."""
    return _triangle(input, diagonal, "tril", lower=True)


def triu(input: T, diagonal: int = 0) -> T:
    """The upper triangle of each matrix, from `diagonal` on; zeros elsewhere."""
    return _triangle(input, diagonal, "triu", lower=False)


def _triangle(input: T, diagonal: int, name: str, lower: bool) -> T:
    if input.array.ndim < 2:
        raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
    one_number(name, "diagonal", diagonal, "int")

    def corner(x: Array) -> Array:
        rows, columns = (np.arange(side, like=x) for side in x.shape[-2:])
        apart = columns - rows[:, None]
        keep = apart <= diagonal if lower else apart >= diagonal
        return np.where(keep, x, np.zeros((), x.dtype, like=x))

    return record(corner(input.array), f"{name.capitalize()}Backward0", (input, corner))


tril_, triu_ = inplace(tril), inplace(triu)


def diag(input: T, diagonal: int = 0) -> T:
    """The matrix with this vector on its diagonal; of a matrix, a copy of its diagonal."""
    one_number("diag", "diagonal", diagonal, "int")
    x = input.array
    if x.ndim == 2:
        return clone(diagonal_of(input, diagonal))
    if x.ndim != 1:
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {x.ndim}D")
    out = np.diag(x, diagonal)
    return record(out, "DiagEmbedBackward0", (input, lambda g: g.diagonal(diagonal)))


# ------------------------------------------------------------------------------------- repetition


def tile(input: T, *times: Any, dims: Any = None) -> T:
    """`repeat`, where missing numbers in front are ones."""
    given = () if times == ((),) else reshaping.sizes(times, "tile", dims)
    return repeat(input, (1,) * (input.array.ndim - len(given)) + given)


def repeat_interleave(
    input: T, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None
) -> T:
    """Each entry along `dim` repeated `repeats` times in place (a number, or one per entry).

    Without `repeats`, `input` is these numbers, and the result says which entry stands where.
    """
    if repeats is None:
        places = np.arange(input.array.size, like=input.array)
        return result(input, np.repeat(places, _counts(input.array, input.array.size)))
    if dim is None:
        input, dim = reshaping.reshape(input, (-1,)), 0
    x, place = input.array, axis(dim, input.array.ndim)
    counts = _counts(getattr(repeats, "array", repeats), x.shape[place])
    source = np.repeat(np.arange(x.shape[place], like=x), counts)
    if output_size not in (None, source.size):
        raise RuntimeError(
            f"repeat_interleave: Invalid output_size, expected {source.size} but got {output_size}"
        )
    shape = x.shape

    def gather(grad: Array) -> Array:
        whole = np.zeros(shape, grad.dtype, like=grad)
        add_at(whole, (slice(None),) * place + (source,), grad)
        return whole

    return record(x.take(source, place), "IndexSelectBackward0", (input, gather))


def _counts(repeats: Any, side: int) -> Any:
    """How often each of `side` entries is repeated."""
    counts = np.asanyarray(repeats)
    if counts.dtype.kind != "i" or counts.itemsize < 4:
        raise NotImplementedError(
            f'"repeat_interleave_cpu" not implemented for {counts.dtype}: repeats must be int32 or int64'
        )
    if counts.ndim > 1:
        raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
    if counts.size not in (1, side):
        raise RuntimeError(
            "repeats must have the same size as input along dim, but got repeats.size(0) = "
            f"{counts.size} and input.size = {side}"
        )
    if counts.size and has_numbers(counts) and counts.min() < 0:
        raise RuntimeError("repeats can not be negative")
    return counts


# ------------------------------------------------------------------------------------------ grids


def one_hot(tensor: TensorBase, num_classes: int = -1) -> Any:
    """For each class number a row of zeros with a one in that place."""
    x = tensor.array
    if x.dtype != np.int64:
        raise RuntimeError(
            f"one_hot is only applicable to index tensor of type LongTensor, not {tensor.dtype}."
        )
    if num_classes <= 0 and not x.size:
        raise RuntimeError("Can not infer total number of classes from empty tensor.")
    if not x.size or (not has_numbers(x) and num_classes > 0):
        return result(tensor, np.zeros((*x.shape, num_classes), np.int64, like=x))
    count = int(x.max()) + 1 if num_classes == -1 else num_classes
    if x.min() < 0 or x.max() >= count:
        raise RuntimeError(
            f"Class values must be non-negative and smaller than num_classes: {x.min()} to {x.max()} "
            f"in {count} classes."
        )
    out = np.zeros((math.prod(x.shape), count), np.int64)
    out[np.arange(len(out)), x.reshape(-1)] = 1
    return result(tensor, out.reshape(*x.shape, count))
