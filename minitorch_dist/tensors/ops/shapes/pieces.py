"""Parts of a tensor, as views: slices, splits, diagonals, sliding windows."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from minitorch_dist.tensors.autograd.joint import views_of
from minitorch_dist.tensors.core.base import Array, T, TensorBase
from minitorch_dist.tensors.core.operations import axis
from minitorch_dist.tensors.core.views import view_of
from minitorch_dist.tensors.ops.accumulation import zeros_around


def part(input: T, where: tuple[Any, ...], name: str) -> T:
    """`input[where]` for numpy's basic indexing with a `...` in it, as a view."""
    return view_of(input, input.array[where], name, zeros_around(input.array, where))


def _at(dim: int, what: Any) -> tuple[Any, ...]:
    return (slice(None),) * dim + (what, ...)


def select(input: T, dim: int, index: int) -> T:
    """The slice at `index` along `dim`, without that dimension."""
    shape = input.array.shape
    if not shape:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    place = axis(dim, len(shape))
    n = shape[place]
    if not -n <= index < n:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(shape)} at dimension {dim}")
    return part(input, _at(place, int(index)), "SelectBackward0")


def narrow(input: T, dim: int, start: int, length: int) -> T:
    """`length` entries along `dim`, from `start` on."""
    shape = input.array.shape
    if not shape:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    place, first = axis(dim, len(shape)), int(start)
    n = shape[place]
    if not -n <= first <= n:
        raise IndexError(f"start out of range (expected to be in range of [{-n}, {n}], but got {first})")
    if length < 0 or (first + n * (first < 0)) + length > n:
        raise RuntimeError(f"narrow(): start ({first}) and length ({length}) are not within a dimension of size {n}")
    first += n if first < 0 else 0
    return part(input, _at(place, slice(first, first + length)), "SliceBackward0")


def unbind(input: T, dim: int = 0) -> tuple[T, ...]:
    """All slices along `dim`."""
    x = input.array
    if not x.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    place = axis(dim, x.ndim)
    arrays = [x[_at(place, i)] for i in range(x.shape[place])]
    return _several(input, arrays, "UnbindBackward0", partial(np.stack, axis=place))


def _several(input: T, arrays: Sequence[Array], name: str, join: Callable[[list[Array]], Array]) -> tuple[T, ...]:
    """Windows on `input`, whose gradients `join` puts together to that of `input`."""
    shapes, dtype = [a.shape for a in arrays], input.array.dtype

    def backward(*grads: Array | None) -> tuple[Array]:
        given = next(g for g in grads if g is not None)
        blanks = {shape: np.zeros(shape, dtype, like=given) for shape in set(shapes)}
        full = [blanks[s] if g is None else g for s, g in zip(shapes, grads, strict=True)]
        return (join(full),)

    return views_of(input, arrays, name, backward)


def split_method(input: T, split_size: int | Sequence[int], dim: int = 0) -> tuple[T, ...]:
    """Pieces of `split_size` entries along `dim` (the last may be smaller), or of listed sizes."""
    if not isinstance(split_size, int):
        return split_with_sizes(input, split_size, dim)
    n = _side(input, dim, "split")
    if split_size < 0 or (split_size == 0 and n):
        raise RuntimeError(f"split expects a positive split_size, but got {split_size} for a dimension of size {n}")
    count = max(-(-n // split_size), 1) if split_size else 1
    return _cut(input, [i * split_size for i in range(1, count)], dim, "SplitBackward0")


def split(tensor: T, split_size_or_sections: int | Sequence[int], dim: int = 0) -> tuple[T, ...]:
    """The method `split` as torch's function, whose arguments have other names."""
    return split_method(tensor, split_size_or_sections, dim)


def split_with_sizes(input: T, split_sizes: Sequence[int], dim: int = 0) -> tuple[T, ...]:
    """Pieces of the given sizes along `dim`."""
    n, given = _side(input, dim, "split_with_sizes"), [int(size) for size in split_sizes]
    if min(given, default=0) < 0 or sum(given) != n:
        raise RuntimeError(f"split expects split_sizes to sum exactly to {n}, but got {given}")
    bounds = list(itertools.accumulate(given))[:-1]
    return _cut(input, bounds, dim, "SplitWithSizesBackward0") if given else ()


def _side(input: TensorBase, dim: int, name: str) -> int:
    if not input.array.ndim:
        raise RuntimeError(f"{name} expects at least a 1-dimensional tensor")
    return int(input.array.shape[axis(dim, input.array.ndim)])


def _cut(input: T, bounds: Sequence[int], dim: int, name: str) -> tuple[T, ...]:
    """The pieces between the `bounds` (which lie inside the dimension, in order)."""
    x = input.array
    place = axis(dim, x.ndim)
    starts, ends = [0, *bounds], [*bounds, x.shape[place]]
    arrays = [x[_at(place, slice(a, b))] for a, b in zip(starts, ends, strict=True)]
    return _several(input, arrays, name, partial(np.concatenate, axis=place))


def chunk(input: T, chunks: int, dim: int = 0) -> tuple[T, ...]:
    """At most `chunks` pieces of equal size along `dim`; the last may be smaller."""
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    n = _side(input, dim, "chunk")
    if n == 0:
        return split_with_sizes(input, [0] * chunks, dim)
    return split(input, -(-n // chunks), dim)


def tensor_split(input: T, indices_or_sections: Any, dim: int = 0) -> tuple[T, ...]:
    """As many pieces as asked for, the first ones longer; or cuts at the given indices."""
    n, bounds = _side(input, dim, "tensor_split"), indices_or_sections
    if isinstance(bounds, TensorBase):
        bounds = bounds.array.tolist()
    if isinstance(bounds, int):
        if bounds <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {bounds}")
        longer, size = n % bounds, n // bounds
        bounds = [i * size + min(i, longer) for i in range(1, bounds)]
    ends = [slice(a, b) for a, b in zip([0, *bounds], [*bounds, n], strict=True)]
    place = axis(dim, input.array.ndim)
    return tuple([part(input, _at(place, s), "SliceBackward0") for s in ends])
