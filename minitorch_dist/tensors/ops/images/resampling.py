"""Images of another size: `interpolate`.

Along one axis every output is a weighted sum of few inputs, its taps: one for "nearest", two for
"linear", four for "bicubic". Axes are independent, so an image is resampled axis by axis, and the
gradient goes back through the same weights, transposed.

    align_corners      output o lies over the input at o · (in - 1) / (out - 1): corner on corner
    otherwise          at (o + ½) · in / out - ½: pixels are squares, edge on edge
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.core.base import Array, T
from minitorch_dist.tensors.core.graph import record, result
from minitorch_dist.tensors.core.without_warnings import silent
from minitorch_dist.tensors.dtypes import type_name
from minitorch_dist.tensors.ops.images.adaptive_pooling import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
)

NODES = {"nearest": "Nearest", "nearest-exact": "NearestExact", "linear": "Linear",
         "bilinear": "Bilinear", "trilinear": "Trilinear", "bicubic": "Bicubic"}  # fmt: skip
DIMS = {"linear": 1, "bilinear": 2, "trilinear": 3, "bicubic": 2}


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
    antialias: bool = False,
) -> T:
    """(N, C, *sizes) resampled to `size`, or to `scale_factor` times its size."""
    x = input.array
    if mode in ("nearest", "nearest-exact", "area") and align_corners is not None:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear "
            "| bicubic | trilinear"
        )
    sizes, scales = _target(x.shape[2:], size, scale_factor)
    if recompute_scale_factor and size is not None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    if recompute_scale_factor or mode == "area":
        scales = [None] * len(sizes)
    if antialias:
        raise NotImplementedError("interpolate(antialias=True) is not offered")
    _check(x, mode, sizes)
    if mode == "area":
        return (
            adaptive_avg_pool1d(input, sizes) if x.ndim == 3 else adaptive_avg_pool2d(input, sizes)
        )
    kind = np.dtype(np.float64) if x.dtype == np.float64 else np.dtype(np.float32)
    plans = [
        _taps(mode, n, out, scale, bool(align_corners), kind)
        for n, out, scale in zip(x.shape[2:], sizes, scales, strict=True)
    ]
    return _resampled(input, plans, f"Upsample{NODES[mode]}{x.ndim - 2}DBackward0")


def upsample(
    input: T, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
    align_corners: bool | None = None,
) -> T:  # fmt: skip
    """The old name of `interpolate`."""
    warnings.warn(
        "`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.",
        stacklevel=2,
    )
    return interpolate(input, size, scale_factor, mode, align_corners)


# -------------------------------------------------------------------------------------- sizes and checks


def _target(
    spatial: tuple[int, ...], size: Any, scale_factor: Any
) -> tuple[list[int], list[float | None]]:
    """The size of the output, and the scales where those were given."""
    dims = len(spatial)
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    if size is not None:
        sizes = list(size) if isinstance(size, (list, tuple)) else [size] * dims
        if len(sizes) != dims:
            raise ValueError(
                "Input and output must have the same number of spatial dimensions, but got input "
                f"with spatial dimensions of {list(spatial)} and output size of {size}. Please "
                "provide input tensor in (N, C, d1, d2, ...,dK) format and output size in (o1, o2, "
                "...,oK) format."
            )
        if not all(isinstance(n, (int, np.integer)) for n in sizes):
            raise TypeError(f"expected size to be one int or a tuple of ints, but got {size!r}")
        return sizes, [None] * dims
    scales = (
        list(scale_factor) if isinstance(scale_factor, (list, tuple)) else [scale_factor] * dims
    )
    if len(scales) != dims:
        raise ValueError(
            "Input and scale_factor must have the same number of spatial dimensions, but got input "
            f"with spatial dimensions of {list(spatial)} and scale_factor of shape {scale_factor}. "
            "Please provide input tensor in (N, C, d1, d2, ...,dK) format and scale_factor in (s1, "
            "s2, ...,sK) format."
        )
    return [math.floor(n * s) for n, s in zip(spatial, scales, strict=True)], scales


def _check(x: Array, mode: str, sizes: list[int]) -> None:
    known = mode in NODES or (mode == "area" and x.ndim < 5)
    if x.ndim not in (3, 4, 5) or not known:
        raise NotImplementedError(
            f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {x.ndim}D) for the "
            "modes: nearest | linear | bilinear | bicubic | trilinear | area | nearest-exact (got "
            f"{mode})"
        )
    dims = DIMS.get(mode, x.ndim - 2)
    if dims != x.ndim - 2:
        raise NotImplementedError(f"Got {x.ndim}D input, but {mode} mode needs {dims + 2}D input")
    if min(*x.shape[1:], *sizes) <= 0:
        raise RuntimeError(
            "Input and output sizes should be greater than 0, but got input "
            f"{list(x.shape[1:])} and output {sizes}"
        )
    if x.dtype.kind in "iub" and not (x.dtype == np.uint8 and "nearest" in mode):
        raise NotImplementedError(f"\"upsample_{mode}\" not implemented for '{type_name(x)[6:-6]}'")


# ------------------------------------------------------------------------------------------------ taps


def _taps(
    mode: str, n: int, out: int, scale: float | None, align_corners: bool, kind: np.dtype[Any]
) -> Taps:
    """The taps of one axis. Positions are computed in the precision torch uses for them.

    Where an axis keeps its size, nearest and linear keep it as it is, for any scale.
    """
    one = np.ones((1, out), kind)
    if n == out and mode not in ("nearest-exact", "bicubic"):
        return Taps(np.arange(n)[None], one)
    if mode == "nearest" and out == 2 * n:
        return Taps(np.arange(out)[None] // 2, one)
    ratio = 1 / scale if scale else n / out
    if "nearest" in mode:
        shift = np.float32(0.5 if mode == "nearest-exact" else 0)
        at = (np.arange(out).astype(np.float32) + shift) * np.float32(ratio)
        return Taps(np.minimum(at.astype(np.int64), n - 1)[None], one)
    o = np.arange(out).astype(kind)
    if align_corners:
        at = o * kind.type((n - 1) / (out - 1) if out > 1 else 0)
    else:
        at = (o + kind.type(0.5)) * kind.type(ratio) - kind.type(0.5)
    if mode == "bicubic":
        first = np.floor(at)
        places = first.astype(np.int64) + np.arange(-1, 3)[:, None]
        return Taps(places.clip(0, n - 1), _cubic(at - first))
    at = np.maximum(at, 0)
    low = np.minimum(at.astype(np.int64), n - 1)
    part = np.clip(at - low, 0, 1).astype(kind)
    return Taps(np.stack([low, np.minimum(low + 1, n - 1)]), np.stack([1 - part, part]))


def _cubic(t: Array) -> Array:
    """Keys' convolution kernel with a = -3/4, at the four taps around a point (doi:10.1109/TASSP.1981.1163711)."""
    a = t.dtype.type(-0.75)

    def near(d: Array) -> Any:
        return ((a + 2) * d - (a + 3)) * d * d + 1

    def far(d: Array) -> Any:
        return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a

    return np.asanyarray([far(t + 1), near(t), near(1 - t), far(2 - t)])


# -------------------------------------------------------------------------------------------- applying


@silent
def _resampled(input: T, plans: list[Taps], name: str) -> T:
    x = input.array
    wide = x.astype(np.float32) if x.dtype in dtypes.HALVES else x
    for axis, plan in enumerate(plans, 2):
        wide = _sampled(wide, plan, axis)
    out = wide.astype(x.dtype, copy=False)
    if x.dtype.kind in "iub":
        return result(input, out)
    sizes, dtype = x.shape[2:], x.dtype

    def backward(grad: Array) -> Array:
        back = grad.astype(np.float32) if grad.dtype in dtypes.HALVES else grad
        for axis in reversed(range(len(plans))):
            back = _returned(back, plans[axis], axis + 2, sizes[axis])
        return back.astype(dtype, copy=False)

    return record(out, name, (input, backward))


def _sampled(x: Array, plan: Taps, axis: int) -> Array:
    """The weighted sum of the taps along one axis."""
    if len(plan.places) == 1:
        return np.asanyarray(x.take(plan.places[0], axis))
    along = [1] * x.ndim
    along[axis] = -1
    total: Any = 0
    for places, weights in zip(plan.places, plan.weights, strict=True):
        total = total + x.take(places, axis) * weights.reshape(along)
    return np.asanyarray(total)


def _returned(grad: Array, plan: Taps, axis: int, n: int) -> Array:
    """The transpose of `_sampled`. Fast: a product with the matrix of the weights.

    Most of its elements are 0, and 0 · inf is nan: such a gradient is added up tap by tap.
    """
    matrix = np.zeros((plan.places.shape[1], n), grad.dtype, like=grad)
    outputs = np.broadcast_to(np.arange(len(matrix)), plan.places.shape)
    np.add.at(matrix, (outputs, plan.places), plan.weights)
    whole = np.asanyarray(np.moveaxis(np.moveaxis(grad, axis, -1) @ matrix, -1, axis))
    return whole if np.isfinite(whole.sum()).all() else _tap_by_tap(grad, plan, axis, n)


def _tap_by_tap(grad: Array, plan: Taps, axis: int, n: int) -> Array:
    whole = np.zeros((*grad.shape[:axis], n, *grad.shape[axis + 1 :]), grad.dtype, like=grad)
    along = [1] * grad.ndim
    along[axis] = -1
    for places, weights in zip(plan.places, plan.weights, strict=True):
        starts = np.flatnonzero(np.r_[True, places[1:] != places[:-1]])  # they never step back
        share = grad * weights.reshape(along)
        whole[(slice(None),) * axis + (places[starts],)] += np.add.reduceat(share, starts, axis)
    return whole
