"""Elements by rank: medians, modes and quantiles. Each is found by sorting."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch_dist.tensors import return_types
from minitorch_dist.tensors.core.base import Array, T, TensorBase
from minitorch_dist.tensors.core.graph import record, result
from minitorch_dist.tensors.core.operations import axis, numpy_names
from minitorch_dist.tensors.ops import autocasting
from minitorch_dist.tensors.ops.along_axes.extrema import among_equals, taken
from minitorch_dist.tensors.promotion import not_implemented


def _scalar(input: T, name: str) -> tuple[T, T]:
    """Of a 0-dim tensor: its only element"""
    out = record(input.array.copy(), name, (input, lambda g: g))
    return out, result(input, np.zeros((), np.int64, like=input.array))


def _middle(x: Array, along: int, ignore_nan: bool) -> Array:
    """Where the lower median stands. Sorting puts nan last."""
    order = np.argsort(x, along, kind="stable")
    length = x.shape[along]
    bad = np.isnan(x).sum(along, keepdims=True)
    if ignore_nan:
        rank = np.maximum(length - bad - 1, 0) // 2
    else:
        rank = np.where(bad > 0, length - bad, (length - 1) // 2)  # the first nan, if there is one
    return np.take_along_axis(order, rank, along)


def _median(input: T, dim: int | None, keepdim: bool, ignore_nan: bool, name: str) -> Any:
    x = input.array
    along = 0 if dim is None else _axis(x, dim, name)
    if x.dtype.kind in "bc" and x.size and (x.ndim or dim is None):
        raise not_implemented("median_cpu", x)
    node = "NanmedianBackward" if ignore_nan else "MedianBackward"
    if dim is None:
        flat = x.reshape(-1)
        if not flat.size:
            return record(np.full((), np.nan, x.dtype, like=x), node + "0", (input, lambda g: x))
        out = np.asanyarray(flat[_middle(flat, 0, ignore_nan)[0]])
        return record(
            out, node + "0", (input, lambda g: among_equals(g, x, out), input), reads_result=True
        )
    kind = return_types.nanmedian if ignore_nan else return_types.median
    if not x.ndim:
        return kind(*_scalar(input, node + "1"))
    return kind(*taken(input, _middle(x, along, ignore_nan), along, keepdim, node + "1"))


def _axis(x: Array, dim: int, name: str) -> int:
    if not isinstance(dim, int):
        raise TypeError(f"{name}(): argument 'dim' must be int, not {type(dim).__name__}")
    along = axis(dim, x.ndim)
    if x.ndim and not x.shape[along]:
        raise IndexError(f"{name}(): Expected reduction dim {along} to have non-zero size.")
    return along


@numpy_names
def median(input: T, dim: int | None = None, keepdim: bool = False) -> Any:
    """The middle element, the lower one of two; with `dim` also its index. nan wins."""
    return _median(input, dim, keepdim, False, "median")


@numpy_names
def nanmedian(input: T, dim: int | None = None, keepdim: bool = False) -> Any:
    """The middle one of the elements that are not nan; with `dim` also its index"""
    return _median(input, dim, keepdim, True, "nanmedian")


@numpy_names
def mode(input: T, dim: int = -1, keepdim: bool = False) -> Any:
    """The most frequent element (of several, the smallest) and its index"""
    x = input.array
    along = _axis(x, dim, "mode")
    if x.dtype.kind == "c":
        raise not_implemented("mode_cpu", x)
    if not x.ndim:
        return return_types.mode(*_scalar(input, "ModeBackward0"))
    order = np.argsort(x, along, kind="stable")
    line = np.moveaxis(np.take_along_axis(x, order, along), along, -1)
    starts = np.ones(line.shape, bool, like=line)
    starts[..., 1:] = line[..., 1:] != line[..., :-1]
    place = np.arange(line.shape[-1], like=line)
    run = place - np.maximum.accumulate(np.where(starts, place, 0), -1)  # how many equals before
    last = np.moveaxis(run.argmax(-1, keepdims=True), -1, along)
    index = np.take_along_axis(order, last, along)
    return return_types.mode(*taken(input, index, along, keepdim, "ModeBackward0"))


# --------------------------------------------------------------------------------------- quantiles


@autocasting.full
@numpy_names
def quantile(
    input: T,
    q: float | T,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
) -> T:
    """The value that a part `q` of the elements does not exceed; between two elements, interpolated"""
    return _quantile(input, q, dim, keepdim, interpolation, False, "quantile")


@autocasting.full
@numpy_names
def nanquantile(
    input: T,
    q: float | T,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
) -> T:
    """`quantile` of the elements that are not nan"""
    return _quantile(input, q, dim, keepdim, interpolation, True, "nanquantile")


def _quantile(
    input: T, q: Any, dim: int | None, keepdim: bool, how: str, ignore_nan: bool, name: str
) -> T:
    x = input.array
    if x.dtype not in (np.float32, np.float64):
        raise RuntimeError(f"{name}() input tensor must be either float or double dtype")
    parts = _parts(x, q, name)
    if how not in ("linear", "lower", "higher", "midpoint", "nearest"):
        raise RuntimeError(
            f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, "
            f"but got {how}"
        )
    if not x.size:
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    along = 0 if dim is None else axis(dim, x.ndim)
    line = x.reshape(1, -1) if dim is None else np.moveaxis(np.atleast_1d(x), along, -1)[None]
    order = np.argsort(line, -1, kind="stable")
    bad = np.isnan(line).sum(-1, keepdims=True)
    length = line.shape[-1] - (bad if ignore_nan else 0)
    rank = parts.reshape(-1, *(1,) * (line.ndim - 1)) * np.maximum(length - 1, 0)
    if not ignore_nan:
        rank = np.where(bad > 0, float(line.shape[-1] - 1), rank)
    below, above = np.floor(rank), np.ceil(rank)
    weight = (rank - below).astype(x.dtype)
    if how == "lower":
        above, weight = below, weight * 0
    elif how == "higher":
        below, weight = above, weight * 0
    elif how == "nearest":
        below = above = np.rint(rank)
        weight = weight * 0
    elif how == "midpoint":
        weight = np.where(below == above, 0, 0.5).astype(x.dtype)
    # order[lower], order[upper]: which elements of the line are mixed, one row for each q
    count = parts.size
    orders = np.broadcast_to(order, (count, *order.shape[1:]))
    lower = np.take_along_axis(orders, below.astype(np.int64), -1)
    upper = np.take_along_axis(orders, above.astype(np.int64), -1)
    lines = np.broadcast_to(line, (count, *line.shape[1:]))
    a, b = np.take_along_axis(lines, lower, -1), np.take_along_axis(lines, upper, -1)
    mixed = a + weight * (b - a) if how in ("linear", "midpoint") else a
    shape, spread_shape, lines_shape = x.shape, mixed.shape, lines.shape

    out = mixed[..., 0]
    if keepdim:
        if dim is None:
            out = out.reshape(-1, *(1,) * x.ndim)
        elif x.ndim:
            out = np.expand_dims(out, along + 1)
    if parts.ndim == 0:
        out = out[0]

    def backward(g: Array) -> Any:
        g = g.reshape(spread_shape)
        whole = np.zeros(lines_shape, g.dtype, like=g)
        for index, part in ((lower, g * (1 - weight)), (upper, g * weight)):
            piece = np.zeros(lines_shape, g.dtype, like=g)
            np.put_along_axis(piece, index, part, -1)
            whole += piece
        total = whole.sum(0)
        return total.reshape(shape) if dim is None else np.moveaxis(total, -1, along).reshape(shape)

    return record(out, "QuantileBackward0", (input, backward))


def _parts(x: Array, q: Any, name: str) -> Array:
    """`q` as an array of the type of x"""
    if isinstance(q, TensorBase):
        if q.array.ndim > 1:
            raise RuntimeError(f"{name}() q must be a scalar or 1D tensor")
        if q.array.dtype != x.dtype:
            raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor")
        parts = q.array
    else:
        if not 0 <= q <= 1:
            raise RuntimeError(f"{name}() q must be in the range [0, 1] but got {q:g}")
        parts = np.asanyarray(q, x.dtype)
    if not ((parts >= 0) & (parts <= 1)).all():
        raise RuntimeError(f"{name}() q values must be in the range [0, 1]")
    return parts
