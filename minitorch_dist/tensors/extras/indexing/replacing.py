"""A tensor with one of its parts replaced: slices and diagonals, as out-of-place writes."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch_dist.tensors.core.base import Array, T, TensorBase
from minitorch_dist.tensors.core.graph import record
from minitorch_dist.tensors.core.operations import axis
from minitorch_dist.tensors.ops.indexing.overwriting import Change, both, number_or_tensor
from minitorch_dist.tensors.ops.shapes import pieces
from minitorch_dist.tensors.promotion import one_number


def _replaced(input: T, src: TensorBase, region: Any, name: str) -> T:
    """`region` maps an array of the tensor's shape to the part that is replaced."""
    x, y = input.array, src.array
    part = region(x)
    if part.shape != y.shape:
        raise RuntimeError(
            "expected src to have a size equal to the slice of self. src size = "
            f"{list(y.shape)}, slice size = {list(part.shape)}"
        )
    out = x.copy(order="C")
    region(out)[...] = y

    def keep(grad: Array) -> Array:
        grad = grad.copy()
        region(grad)[...] = 0
        return grad

    dtype = y.dtype
    return record(out, name, (input, keep), (src, lambda g: region(g).astype(dtype)))


def select_scatter(input: T, src: TensorBase, dim: int, index: int) -> T:
    """A copy with the slice at `index` along `dim` replaced by `src`."""
    pieces.select(input.detach(), dim, index)  # type: ignore[attr-defined]  # torch's complaints
    where = (slice(None),) * axis(dim, input.array.ndim) + (index, ...)
    return _replaced(input, src, lambda x: x[where], "SelectScatterBackward0")


def slice_scatter(
    input: T,
    src: TensorBase,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> T:
    """A copy with the entries `start:end:step` along `dim` replaced by `src`."""
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    where = (slice(None),) * axis(dim, input.array.ndim) + (slice(start, end, step),)
    return _replaced(input, src, lambda x: x[where], "SliceScatterBackward0")


def diagonal_scatter(input: T, src: TensorBase, offset: int = 0, dim1: int = 0, dim2: int = 1) -> T:
    """A copy with a diagonal replaced by `src`."""
    a, b = axis(dim1, input.array.ndim), axis(dim2, input.array.ndim)

    def line(x: Array) -> Array:
        found = x.diagonal(offset, a, b)
        if x.flags.writeable:
            found.flags.writeable = True
        return found

    return _replaced(input, src, line, "DiagonalScatterBackward0")


def _fill_diagonal(input: T, fill_value: Any, wrap: bool = False) -> Change:
    """`fill_value` on the main diagonal; `wrap` starts again below it in tall matrices."""
    shape = input.array.shape
    if len(shape) < 2:
        raise RuntimeError("dimensions must larger than 1")
    if len(shape) > 2 and len(set(shape)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    one_number("fill_diagonal_", "fill_value", fill_value, "Number")
    one_number("fill_diagonal_", "wrap", wrap, "bool")
    number, _ = number_or_tensor(fill_value, "fill_diagonal_")

    def write(array: Array) -> None:
        np.fill_diagonal(array, number, wrap)

    def keep(grad: Array) -> Array:
        grad = grad.copy()
        np.fill_diagonal(grad, 0, wrap)
        return grad

    return Change("FillDiagonalBackward0", write, keep)


_, fill_diagonal_ = both(_fill_diagonal)
