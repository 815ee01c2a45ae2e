"""Differences of neighbours, slopes, and the area under a curve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.core.base import Array, T, TensorBase
from minitorch_dist.tensors.core.graph import record
from minitorch_dist.tensors.core.operations import add, axis, mul, sum as total
from minitorch_dist.tensors.ops.along_axes.scans import cumsum
from minitorch_dist.tensors.ops.shapes import pieces
from minitorch_dist.tensors.promotion import cast
from minitorch_dist.tensors.shape_arrays.array import has_numbers


def diff(
    input: T, n: int = 1, dim: int = -1, prepend: T | None = None, append: T | None = None
) -> T:
    """Each element minus the one before it, n times over."""
    if not input.array.ndim:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    along = axis(dim, input.array.ndim)
    if not n:
        return record(input.array.copy(), "CloneBackward0", (input, lambda g: g))
    given = [t for t in (prepend, input, append) if t is not None]
    kind = given[0].dtype
    for t in given:
        kind = dtypes.promote_types(kind, t.dtype)
    given = [cast(t, kind) for t in given]
    try:
        x = np.concatenate([t.array for t in given], along)
    except ValueError:
        shapes = [list(t.array.shape) for t in given]
        raise RuntimeError(
            f"diff expects prepend and append to fit the input outside dim {along}: {shapes}"
        ) from None
    n = min(n, x.shape[along])
    out = np.diff(x, n, along)

    def gradient(start: int, stop: int) -> Any:
        def vjp(g: Array) -> Array:
            for _ in range(n):  # a difference takes from one neighbour what it gives to the other
                edge = np.zeros_like(g, shape=[*g.shape[:along], 1, *g.shape[along + 1 :]])
                g = -np.diff(np.concatenate([edge, g, edge], along), 1, along)
            return g[(slice(None),) * along + (slice(start, stop),)]

        return vjp

    inputs: list[Any] = []
    start = 0
    for t in given:
        stop = start + t.array.shape[along]
        inputs.append((t, gradient(start, stop)))
        start = stop
    made: T = record(out, "DiffBackward0", inputs[0], *inputs[1:])
    return made


# ------------------------------------------------------------------------------ area under a curve


def _strips(y: T, x: TensorBase | None, dx: Any, dim: int, name: str) -> tuple[T, int]:
    """The areas between neighbouring samples: mean height times width."""
    along = axis(dim, y.array.ndim)
    count = y.array.shape[along]
    if not y.dtype.is_floating_point:
        y = cast(y, dtypes.get_default_dtype())
    heights = add(
        pieces.narrow(y, along, 1, max(count - 1, 0)), pieces.narrow(y, along, 0, max(count - 1, 0))
    )
    if x is None:
        return mul(heights, (1 if dx is None else dx) / 2), along
    if x.array.shape[-1 if x.array.ndim == 1 else along] != count:
        raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
    widths: Any = diff(x, dim=0 if x.array.ndim == 1 else along)
    if x.array.ndim == 1:
        shape = [-1 if i == along else 1 for i in range(y.array.ndim)]
        widths = widths.reshape(shape)
    return mul(mul(heights, widths), 0.5), along


def trapezoid(y: T, x: TensorBase | None = None, *, dx: Any = None, dim: int = -1) -> T:
    """The area under the samples y, joined by straight lines."""
    strips, along = _strips(y, x, dx, dim, "trapezoid")
    return total(strips, along)


trapz = trapezoid


def cumulative_trapezoid(y: T, x: TensorBase | None = None, *, dx: Any = None, dim: int = -1) -> T:
    """The area under the samples up to each of them."""
    strips, along = _strips(y, x, dx, dim, "cumulative_trapezoid")
    return cumsum(strips, along)


# ---------------------------------------------------------------------------------------------- slopes


def gradient(
    input: T, *, spacing: Any = 1, dim: int | Sequence[int] | None = None, edge_order: int = 1
) -> tuple[T, ...]:
    """The slope along each axis: from both neighbours, at the ends from one side."""
    if edge_order not in (1, 2):
        raise RuntimeError(
            f"torch.gradient only supports edge_order=1 and edge_order=2, got {edge_order}"
        )
    ndim = input.array.ndim
    dims = range(ndim) if dim is None else [dim] if isinstance(dim, int) else dim
    along = [axis(d, ndim) for d in dims]
    spacings = list(spacing) if isinstance(spacing, (list, tuple)) else [spacing] * len(along)
    if len(spacings) != len(along):
        raise RuntimeError(
            f"torch.gradient expected spacing to have one entry per dimension, got {len(spacings)} "
            f"for {len(along)}"
        )
    if not input.dtype.is_floating_point:
        input = cast(input, dtypes.get_default_dtype())
    return tuple(_slope(input, d, h, edge_order) for d, h in zip(along, spacings, strict=True))


def _slope(input: T, along: int, spacing: Any, edge_order: int) -> T:
    x = input.array
    n = x.shape[along]
    if n < edge_order + 1:
        raise RuntimeError(
            "torch.gradient expected each dimension size to be at least edge_order+1"
        )
    if isinstance(spacing, TensorBase) and spacing.array.ndim:
        places = spacing.array.astype(np.float64)
    else:
        places = np.arange(n) * float(spacing.array if isinstance(spacing, TensorBase) else spacing)
    rows, weights = _stencil(places, edge_order)
    weights = weights.astype(x.dtype)[(...,) + (None,) * (x.ndim - along - 1)]
    shape = x.shape

    def apply(x: Array) -> Array:
        parts = [w * np.take(x, row, along) for row, w in zip(rows, weights, strict=True)]
        return np.asanyarray(parts[0] + parts[1] + parts[2])

    def vjp(g: Array) -> Array:
        whole = np.zeros(shape, g.dtype, like=g)
        at = (slice(None),) * along
        for row, w in zip(rows, weights, strict=True):
            np.add.at(whole, (*at, row), w * g)
        return whole

    return record(apply(x), "GradientBackward0", (input, vjp))


def _stencil(places: Array, edge_order: int) -> tuple[Array, Array]:
    """For every place the three elements that its slope is made of, and their weights."""
    n = len(places)
    middle = np.clip(np.arange(n), 1, max(n - 2, 1))
    rows = np.stack([middle - 1, middle, np.minimum(middle + 1, n - 1)])
    weights = np.zeros((3, n), like=places)
    if not has_numbers(places):
        return rows, weights
    h = np.diff(places)
    left, right = h[:-1], h[1:]
    weights[:, 1:-1] = [
        -right / (left * (left + right)),
        (right - left) / (left * right),
        left / (right * (left + right)),
    ]
    if edge_order == 1:
        weights[:, 0] = [-1 / h[0], 1 / h[0], 0]
        weights[:, -1] = [0, -1 / h[-1], 1 / h[-1]] if n > 2 else [-1 / h[-1], 1 / h[-1], 0]
    else:
        a, b = h[0], h[1]
        weights[:, 0] = [-(2 * a + b) / (a * (a + b)), (a + b) / (a * b), -a / (b * (a + b))]
        a, b = h[-2], h[-1]
        weights[:, -1] = [b / (a * (a + b)), -(a + b) / (a * b), (2 * b + a) / (b * (a + b))]
    return rows, weights
