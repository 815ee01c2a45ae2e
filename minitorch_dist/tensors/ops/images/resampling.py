"""Images of another size: `interpolate`.

Along one axis every output is a weighted sum of few inputs, its taps: one for "nearest", two for
"linear". Axes are independent, so an image is resampled axis by axis, and the
gradient goes back through the same weights, transposed.

    align_corners      output o lies over the input at o · (in - 1) / (out - 1): corner on corner
    otherwise          at (o + ½) · in / out - ½: pixels are squares, edge on edge
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.core.base import Array, T
from minitorch_dist.tensors.core.graph import record
from minitorch_dist.tensors.core.without_warnings import silent
from minitorch_dist.tensors.ops.accumulation import add_at
from minitorch_dist.tensors.promotion import not_implemented

NODES = {"nearest": "Nearest", "linear": "Linear", "bilinear": "Bilinear"}
DIMS = {"linear": 1, "bilinear": 2}


class Taps(NamedTuple):
    """For one axis: which inputs each output sums (taps × outputs), and how much of each."""

    places: Array
    weights: Array


def interpolate(
    input: T,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
) -> T:
    """(N, C, *sizes) resampled to `size`, or to `scale_factor` times its size."""
    x = input.array
    if mode == "nearest" and align_corners is not None:
        raise ValueError("align_corners is for the modes linear and bilinear")
    sizes, scales = _target(x.shape[2:], size, scale_factor)
    if recompute_scale_factor and size is not None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    if recompute_scale_factor:
        scales = [None] * len(sizes)
    _check(x, mode, sizes)
    kind = np.dtype(np.float64) if x.dtype == np.float64 else np.dtype(np.float32)
    plans = [
        _taps(mode, n, out, scale, bool(align_corners), kind)
        for n, out, scale in zip(x.shape[2:], sizes, scales, strict=True)
    ]
    return _resampled(input, plans, f"Upsample{NODES[mode]}{x.ndim - 2}DBackward0")


def _target(
    spatial: tuple[int, ...], size: Any, scale_factor: Any
) -> tuple[list[int], list[float | None]]:
    """The size of the output, and the scales where those were given."""
    if (size is None) == (scale_factor is None):
        raise ValueError("interpolate() takes either size or scale_factor")
    given = scale_factor if size is None else size
    each = list(given) if isinstance(given, (list, tuple)) else [given] * len(spatial)
    if len(each) != len(spatial):
        raise ValueError(
            "Input and output must have the same number of spatial dimensions, but got input "
            f"with spatial dimensions of {list(spatial)} and {given} to resample it"
        )
    if size is not None:
        return each, [None] * len(each)
    return [math.floor(n * s) for n, s in zip(spatial, each, strict=True)], each


def _check(x: Array, mode: str, sizes: list[int]) -> None:
    dims = DIMS.get(mode, x.ndim - 2)
    if mode not in NODES or dims not in (1, 2) or dims != x.ndim - 2:
        raise NotImplementedError(
            f"Got {x.ndim}D input and mode {mode}: 3D inputs take nearest and linear, 4D inputs take "
            "nearest and bilinear"
        )
    if min(*x.shape[1:], *sizes) <= 0:
        raise RuntimeError(
            "Input and output sizes should be greater than 0, but got input "
            f"{list(x.shape[1:])} and output {sizes}"
        )
    if x.dtype.kind in "iub":
        raise not_implemented(f"upsample_{mode}", x)


def _taps(
    mode: str, n: int, out: int, scale: float | None, align_corners: bool, kind: np.dtype[Any]
) -> Taps:
    """The taps of one axis. Positions are computed in the precision torch uses for them.

    Where an axis keeps its size, it is kept as it is, for any scale.
    """
    one = np.ones((1, out), kind)
    if n == out:
        return Taps(np.arange(n)[None], one)
    if mode == "nearest" and out == 2 * n:
        return Taps(np.arange(out)[None] // 2, one)
    ratio = 1 / scale if scale else n / out
    if mode == "nearest":
        at = np.arange(out).astype(np.float32) * np.float32(ratio)
        return Taps(np.minimum(at.astype(np.int64), n - 1)[None], one)
    o = np.arange(out).astype(kind)
    if align_corners:
        at = o * kind.type((n - 1) / (out - 1) if out > 1 else 0)
    else:
        at = np.maximum((o + kind.type(0.5)) * kind.type(ratio) - kind.type(0.5), 0)
    low = np.minimum(at.astype(np.int64), n - 1)
    part = np.clip(at - low, 0, 1).astype(kind)
    return Taps(np.stack([low, np.minimum(low + 1, n - 1)]), np.stack([1 - part, part]))


@silent
def _resampled(input: T, plans: list[Taps], name: str) -> T:
    x = input.array
    wide = x.astype(np.float32) if x.dtype in dtypes.HALVES else x
    for axis, plan in enumerate(plans, 2):
        wide = _sampled(wide, plan, axis)
    sizes, dtype = x.shape[2:], x.dtype

    def backward(grad: Array) -> Array:
        back = grad.astype(np.float32) if grad.dtype in dtypes.HALVES else grad
        for axis in reversed(range(len(plans))):
            back = _returned(back, plans[axis], axis + 2, sizes[axis])
        return back.astype(dtype, copy=False)

    return record(wide.astype(dtype, copy=False), name, (input, backward))


def _sampled(x: Array, plan: Taps, axis: int) -> Array:
    """The weighted sum of the taps along one axis."""
    along = [1] * x.ndim
    along[axis] = -1
    total: Any = 0
    for places, weights in zip(plan.places, plan.weights, strict=True):
        total = total + x.take(places, axis) * weights.reshape(along)
    return np.asanyarray(total)


def _returned(grad: Array, plan: Taps, axis: int, n: int) -> Array:
    """The transpose of `_sampled`: each tap's share goes back to where it came from."""
    whole = np.zeros((*grad.shape[:axis], n, *grad.shape[axis + 1 :]), grad.dtype, like=grad)
    along = [1] * grad.ndim
    along[axis] = -1
    for places, weights in zip(plan.places, plan.weights, strict=True):
        add_at(whole, (slice(None),) * axis + (places,), grad * weights.reshape(along))
    return whole
