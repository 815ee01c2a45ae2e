"""How far apart points are: all pairs of two sets, the pairs within one, or row by row."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch_dist.tensors.core.base import Array, T
from minitorch_dist.tensors.core.graph import record
from minitorch_dist.tensors.core.operations import sum_to
from minitorch_dist.tensors.masks import only
from minitorch_dist.tensors.ops import autocasting
from minitorch_dist.tensors.ops.linear_algebra.products import same_dtype
from minitorch_dist.tensors.shape_arrays.array import has_numbers

BUFFER = 1 << 20  # elements


@autocasting.full
def cdist(x1: T, x2: T, p: float = 2.0, compute_mode: str | None = None) -> T:
    """The p-norm distance of every row of x1 to every row of x2; leading axes are batches."""
    if not p >= 0:
        raise RuntimeError(f"cdist only supports non-negative p values, got {p}")
    for t in (x1, x2):
        if t.array.ndim < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, got: {t.array.ndim}D")
        if t.array.dtype.kind in "iub":
            raise RuntimeError(f"cdist only supports floating-point dtypes, got: {t.dtype}")
    same_dtype(x1, x2)
    x, y = x1.array, x2.array
    if x.shape[-1] != y.shape[-1]:
        raise RuntimeError(
            f"X1 and X2 must have the same number of columns. X1: {x.shape[-1]} X2: {y.shape[-1]}"
        )
    batch = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    out = np.empty((*batch, x.shape[-2], y.shape[-2]), x.dtype, like=x)
    for some in _blocks(out, x.shape[-1]):
        out[..., some, :] = _norm(x[..., some, None, :] - y[..., None, :, :], p)

    def of_x(g: Array) -> Array:
        whole = np.empty((*batch, *x.shape[-2:]), g.dtype, like=g)
        for some in _blocks(out, x.shape[-1]):
            slope = _slope(x[..., some, None, :] - y[..., None, :, :], out[..., some, :], p)
            whole[..., some, :] = _pull(g[..., some, :], slope, out[..., some, :]).sum(-2)
        return sum_to(whole, x.shape)

    def of_y(g: Array) -> Array:
        whole = np.zeros((*batch, *y.shape[-2:]), g.dtype, like=g)
        for some in _blocks(out, x.shape[-1]):
            slope = _slope(x[..., some, None, :] - y[..., None, :, :], out[..., some, :], p)
            whole -= _pull(g[..., some, :], slope, out[..., some, :]).sum(-3)
        return sum_to(whole, y.shape)

    return record(out, "CdistBackward0", (x1, of_x, x1, x2), (x2, of_y, x1, x2), reads_result=True)


def _blocks(out: Array, columns: int) -> list[slice]:
    """Rows of x1, so few at a time that all their differences fit into a small buffer."""
    rows = out.shape[-2]
    step = max(1, rows * BUFFER // max(1, out.size * columns))
    return [slice(start, start + step) for start in range(0, rows, step)]


def pdist(input: T, p: float = 2.0) -> T:
    """The distances between the rows of one matrix, each pair once."""
    x = input.array
    if x.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {x.ndim}D")
    i, j = _pairs(x)
    out = _norm(x[i] - x[j], p)

    def gradient(g: Array) -> Array:
        pull = _pull(g, _slope(x[i] - x[j], out, p), out)
        total = np.zeros_like(x)
        np.add.at(total, i, pull)
        np.subtract.at(total, j, pull)
        return total

    return record(out, "PdistBackward0", (input, gradient, input), reads_result=True)


def _pairs(x: Array) -> tuple[Array, Array]:
    """The numbers of two rows, the first one smaller."""
    n = x.shape[0]
    if has_numbers(x):
        return np.triu_indices(n, 1)
    each = np.empty(n * (n - 1) // 2, np.intp, like=x)
    return each, each


def _norm(d: Array, p: float) -> Array:
    """The p-norm along the last axis."""
    d = np.abs(d)
    if p == 0:
        return np.asanyarray((d != 0).sum(-1)).astype(d.dtype)  # type: ignore[no-any-return]
    if p == 1:
        return np.asanyarray(d.sum(-1))
    if p == 2:
        return np.asanyarray(np.sqrt((d * d).sum(-1)))
    if p == np.inf:
        return np.asanyarray(d.max(-1, initial=0))
    return np.asanyarray((d**p).sum(-1) ** (1 / p)).astype(d.dtype)  # type: ignore[no-any-return]


def _pull(g: Array, slope: Array, norm: Array) -> Any:
    """The gradient of the differences; nothing pulls points that are at the same place."""
    return only((g[..., None] * slope).astype(g.dtype, copy=False), norm[..., None] != 0)


def _slope(d: Array, norm: Array, p: float) -> Array:
    """The gradient of the norm along the last axis; zero where the distance is zero."""
    if p == 0:
        return np.zeros_like(d)
    if p == 1:
        return np.asanyarray(np.sign(d))
    norm = norm[..., None]
    if p == np.inf:
        return np.asanyarray(np.sign(d) * (np.abs(d) == norm))
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = d / norm if p == 2 else np.sign(d) * (np.abs(d) / norm) ** (p - 1)
    return np.where(norm == 0, 0, slope).astype(d.dtype)
