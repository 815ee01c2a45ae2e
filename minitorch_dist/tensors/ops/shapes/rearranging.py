"""The elements in other places: turned, mirrored, repeated, cut to triangles."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch_dist.tensors.core.base import Array, T
from minitorch_dist.tensors.core.graph import record, result
from minitorch_dist.tensors.core.operations import axes, axis, total
from minitorch_dist.tensors.ops.accumulation import zeros_around
from minitorch_dist.tensors.ops.elementwise.copying import clone, dense
from minitorch_dist.tensors.ops.shapes.reshaping import reshape, sizes
from minitorch_dist.tensors.promotion import one_number
from minitorch_dist.tensors.shape_arrays.array import has_numbers


def _ints(value: Any) -> tuple[int, ...]:
    return (value,) if isinstance(value, int) else tuple(value)


def roll(input: T, shifts: Any, dims: Any = None) -> T:
    """Every element moved on by `shifts` along `dims`. Elements that leave at the end come back at the front."""
    x, by = input.array, _ints(shifts)
    along = () if dims is None else _ints(dims)
    if len(by) != max(len(along), 1):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(by)}, dims:{len(along)}")
    if not x.size:
        return clone(input)
    places = tuple([axis(d, x.ndim) for d in along]) or None
    step: Any = by if places else by[0]
    back = tuple([-n for n in by]) if places else -by[0]
    return record(np.roll(x, step, places), "RollBackward0", (input, lambda g: np.roll(g, back, places)))


def flip(input: T, *along: Any, dims: Any = None) -> T:
    """Backwards along `dims`. Always a copy."""
    x = input.array
    if dims is not None:
        along = (dims,)
    given = _ints(along[0]) if len(along) == 1 else along
    over = axes(given, x.ndim) if given else ()
    return record(dense(np.flip(x, over)), "FlipBackward0", (input, lambda g: np.flip(g, over)))


def reverse(input: T) -> T:
    """`reversed(x)`: backwards along the first dimension."""
    return flip(input, 0) if input.array.ndim else input


# ------------------------------------------------------------------------------------ repetitions


def repeat(input: T, *times: Any, repeats: Any = None) -> T:
    """The whole tensor repeated along each dimension; more numbers make more dimensions in front."""
    x = input.array
    given = () if times == ((),) else sizes(times, "repeat", repeats)
    if len(given) < x.ndim or min(given, default=0) < 0:
        raise RuntimeError(f"repeat() takes a number for each dimension of {list(x.shape)}, but got {list(given)}")
    full = (1,) * (len(given) - x.ndim) + x.shape
    split = tuple([n for pair in zip(given, full, strict=True) for n in pair])
    over, before = tuple(range(0, len(split), 2)), x.shape

    def fold(grad: Array) -> Array:
        sums = np.asanyarray(total(grad.reshape(split), over, False))
        return sums.astype(grad.dtype, copy=False).reshape(before)  # type: ignore[no-any-return]

    out = np.tile(x, given) if given else x.copy()
    return record(out, "RepeatBackward0", (input, fold))


def repeat_interleave(input: T, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None) -> T:
    """Each entry along `dim` repeated `repeats` times in place (a number, or one per entry).

    Without `repeats`, `input` is these numbers, and the result says which entry stands where.
    """
    if repeats is None:
        places = np.arange(input.array.size, like=input.array)
        return result(input, np.repeat(places, _counts(input.array, input.array.size)))
    if dim is None:
        input, dim = reshape(input, (-1,)), 0
    x, place = input.array, axis(dim, input.array.ndim)
    counts = _counts(getattr(repeats, "array", repeats), x.shape[place])
    source = np.repeat(np.arange(x.shape[place], like=x), counts)
    if output_size not in (None, source.size):
        raise RuntimeError(f"repeat_interleave: Invalid output_size, expected {source.size} but got {output_size}")
    widen = zeros_around(x, (slice(None),) * place + (source,), twice=True)
    return record(x.take(source, place), "IndexSelectBackward0", (input, widen))


def _counts(repeats: Any, side: int) -> Any:
    """How often each of `side` entries is repeated."""
    counts = np.asanyarray(repeats)
    if counts.dtype.kind != "i" or counts.ndim > 1 or counts.size not in (1, side):
        error = RuntimeError if counts.dtype.kind == "i" else NotImplementedError
        raise error(f"repeats must be one int or {side}, but are {counts.dtype} of shape {list(counts.shape)}")
    if counts.size and has_numbers(counts) and counts.min() < 0:
        raise RuntimeError("repeats can not be negative")
    return counts


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
