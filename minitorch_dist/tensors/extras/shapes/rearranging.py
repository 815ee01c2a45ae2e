"""The elements in other places: turned, mirrored, repeated, cut to triangles: those that are rarely used."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch_dist.tensors.core.base import Array, T, TensorBase
from minitorch_dist.tensors.core.graph import record, result
from minitorch_dist.tensors.core.operations import axis
from minitorch_dist.tensors.core.views import inplace
from minitorch_dist.tensors.ops.accumulation import add_at
from minitorch_dist.tensors.ops.elementwise.copying import dense
from minitorch_dist.tensors.ops.shapes.pieces import diagonal
from minitorch_dist.tensors.ops.shapes.rearranging import flip, repeat
from minitorch_dist.tensors.ops.shapes.reshaping import ravel, sizes
from minitorch_dist.tensors.promotion import one_number
from minitorch_dist.tensors.shape_arrays.array import has_numbers


def fliplr(input: T) -> T:
    """Backwards along the second dimension."""
    if input.array.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return flip(input, 1)


def flipud(input: T) -> T:
    """Backwards along the first dimension."""
    if input.array.ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return flip(input, 0)


def rot90(input: T, k: int = 1, dims: Any = (0, 1)) -> T:
    """Turned by 90 degrees `k` times, from the first of `dims` towards the second."""
    x, given = input.array, tuple(dims)
    if len(given) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(given)}")
    if x.ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {x.ndim}")
    a, b = axis(given[0], x.ndim), axis(given[1], x.ndim)
    if a == b:
        raise RuntimeError(
            "expected rotation dims to be different, but got "
            f"dim0 = {given[0]} and dim1 = {given[1]}"
        )
    return record(
        dense(np.rot90(x, k, (a, b))),
        "Rot90Backward0",
        (input, lambda g: np.rot90(g, -k, (a, b))),
    )


def _corner(x: Array, diagonal: int, lower: bool) -> Array:
    """A copy with zeros above (`lower`) or below the diagonal."""
    one_number("tril" if lower else "triu", "diagonal", diagonal, "int")
    rows, columns = (np.arange(side, like=x) for side in x.shape[-2:])
    rows = rows[:, None]
    keep = columns - rows <= diagonal if lower else columns - rows >= diagonal
    return np.where(keep, x, np.zeros((), x.dtype, like=x))


def tril(input: T, diagonal: int = 0) -> T:
    """The lower triangle of each matrix, up to `diagonal`; zeros elsewhere."""
    if input.array.ndim < 2:
        raise RuntimeError("tril: input tensor must have at least 2 dimensions")
    out = _corner(input.array, diagonal, True)
    return record(out, "TrilBackward0", (input, lambda g: _corner(g, diagonal, True)))


def triu(input: T, diagonal: int = 0) -> T:
    """The upper triangle of each matrix, from `diagonal` on; zeros elsewhere."""
    if input.array.ndim < 2:
        raise RuntimeError("triu: input tensor must have at least 2 dimensions")
    out = _corner(input.array, diagonal, False)
    return record(out, "TriuBackward0", (input, lambda g: _corner(g, diagonal, False)))


tril_ = inplace(tril)
triu_ = inplace(triu)


def diag_embed(input: T, offset: int = 0, dim1: int = -2, dim2: int = -1) -> T:
    """Matrices (over `dim1` and `dim2`) with the last dimension of `input` on their diagonal."""
    x = input.array
    a, b = axis(dim1, x.ndim + 1), axis(dim2, x.ndim + 1)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    if not x.ndim:
        raise RuntimeError("diag_embed: input tensor must have at least 1 dimension")
    side = x.shape[-1] + abs(offset)
    shape = list(x.shape[:-1])
    for place in sorted((a, b)):
        shape.insert(place, side)
    out = np.zeros(shape, x.dtype, like=x)
    line = out.diagonal(offset, a, b)
    line.flags.writeable = True
    line[...] = x
    return record(out, "DiagEmbedBackward0", (input, lambda g: g.diagonal(offset, a, b)))


def diag(input: T, diagonal: int = 0) -> T:
    """The matrix with this vector on its diagonal; of a matrix, a copy of its diagonal."""
    x = input.array
    if x.ndim == 1:
        return diag_embed(input, diagonal)
    if x.ndim != 2:
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {x.ndim}D")
    return diagonal_copy(input, diagonal)


def diagflat(input: T, offset: int = 0) -> T:
    """The matrix with all elements of `input`, in order, on its diagonal."""
    return diag_embed(ravel(input), offset)


def diagonal_copy(input: T, offset: int = 0, dim1: int = 0, dim2: int = 1) -> T:
    """`diagonal`, as a copy."""
    seen = diagonal(input, offset, dim1, dim2)
    out = seen.array.copy(order="C")
    widen = None if seen._grad_fn is None else seen._grad_fn.vjps[0]
    return record(out, "DiagonalBackward0_copy", (input, widen))


def tile(input: T, *times: Any, dims: Any = None) -> T:
    """`repeat`, where missing numbers in front are ones."""
    given = () if times == ((),) else sizes(times, "tile", dims)
    return repeat(input, (1,) * (input.array.ndim - len(given)) + given)


def repeat_interleave(
    input: T, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None
) -> T:
    """Each entry along `dim` repeated `repeats` times in place (a number, or one per entry).

    Without `repeats`, `input` is these numbers, and the result says which entry stands where.
    """
    if repeats is None:
        places = np.arange(input.array.size, like=input.array)
        return result(input, np.repeat(places, _counts(input.array)))
    x = input.array
    before, dtype = x.shape, x.dtype
    flat = x.reshape(-1) if dim is None else x
    if dim is not None and not x.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    place = 0 if dim is None else axis(dim, x.ndim)
    flat = flat if flat.ndim else flat.reshape(1)
    side = flat.shape[place]
    counts: Any = repeats
    if isinstance(repeats, TensorBase):
        counts = _counts(repeats.array).reshape(-1)
        if counts.size == 1:
            counts = np.full(side, counts[0])
        if len(counts) != side:
            raise RuntimeError(
                "repeats must have the same size as input along dim, but got repeats.size(0) = "
                f"{len(counts)} and input.size({place}) = {side}"
            )
    elif not isinstance(repeats, (int, np.integer)):
        raise TypeError(
            f"repeat_interleave(): argument 'repeats' must be Tensor or int, not {type(repeats).__name__}"
        )
    elif repeats < 0:
        raise RuntimeError("Repeats must be non-negative")
    total = int(counts.sum()) if isinstance(counts, np.ndarray) else side * counts
    if output_size not in (None, total):
        raise RuntimeError(
            f"repeat_interleave: Invalid output_size, expected {total} but got {output_size}"
        )
    if counts is repeats and not has_numbers(x):
        source = np.empty(total, np.intp, like=x)
    else:
        source = np.repeat(np.arange(side), counts)
    shape = flat.shape

    def gather(grad: Array) -> Array:
        whole = np.zeros(shape, dtype, like=grad)
        add_at(whole, (slice(None),) * place + (source,), grad)
        return whole.reshape(before)

    return record(flat.take(source, place), "IndexSelectBackward0", (input, gather))


def _counts(array: Array) -> Array:
    if array.dtype.kind != "i" or array.itemsize < 4:
        raise NotImplementedError(
            f'"repeat_interleave_cpu" not implemented for {array.dtype}: repeats must be int32 or '
            "int64"
        )
    if array.ndim > 1:
        raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
    if array.size and has_numbers(array) and array.min() < 0:
        raise RuntimeError("repeats can not be negative")
    return array
