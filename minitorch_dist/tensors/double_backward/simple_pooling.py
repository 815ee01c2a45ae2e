"""Pooling, resampling and diagonals, written once more in operations that are easy to record.

See `simple_forms`, which has the others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from minitorch_dist.tensors.core.base import Array
from minitorch_dist.tensors.double_backward.recording_array import constant
from minitorch_dist.tensors.double_backward.simple_products import Cells, Form, kept_by, zeros
from minitorch_dist.tensors.ops.images.pooling import _images, _max_indices
from minitorch_dist.tensors.ops.images.sliding import Axis, seen


def planes(x: Any, dims: int) -> Any:
    """As (N, C, H, W), where the batch or the height may be missing."""
    if x.ndim == dims + 1:
        x = x.unsqueeze(0)
    return x.unsqueeze(2) if dims == 1 else x


def _max_pool(cells: Cells, reads: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
    x, shape = reads[0], cells["out"].shape
    images = _images(cells["values"], cells["dims"])
    where = _max_indices(images, cells["rows"], cells["columns"])
    flat = x.reshape(*images.shape[:2], -1)
    places = constant(where.reshape(*where.shape[:2], -1), x.storage.device)
    return [x], [flat.gather(2, places).reshape(shape)]


def _max_pool_with_places(
    cells: Cells, reads: Sequence[Any]
) -> tuple[Sequence[Any], Sequence[Any]]:
    inputs, (pooled,) = _max_pool(kept_by(cells["backward"]), reads)
    return inputs, [pooled, pooled]


def _avg_pool(cells: Cells, reads: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
    source, dims, rows, columns = (cells[name] for name in ("source", "dims", "rows", "columns"))
    x = zeros(source, cells["dtype"])
    images = planes(x, dims)
    matrices = [_sums(axis, x.array.dtype) for axis in (rows, columns)]
    out = constant(matrices[0]) @ images @ constant(matrices[1].T.copy())
    count = kept_by(cells["divide"])["count"]
    out = out / (constant(count.astype(x.array.dtype)) if isinstance(count, np.ndarray) else count)
    return [x], [out.reshape(*source[:-dims], *(rows.out, columns.out)[-dims:])]


def _sums(axis: Axis, dtype: Any) -> Array:
    """The matrix (out, size) that adds up what each window sees."""
    matrix = np.zeros((axis.out, axis.size), dtype)
    for tap in range(axis.kernel):
        outputs, inputs = seen(axis, tap)
        matrix[np.arange(axis.out)[outputs], np.arange(axis.size)[inputs]] = 1
    return matrix


def _adaptive(cells: Cells, reads: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
    source, axes = cells["source"], cells["axes"]
    out = x = zeros(source, cells["dtype"])
    for axis, bins in zip(range(-len(axes), 0), axes, strict=True):
        matrix = np.zeros((source[axis], len(bins)), cells["dtype"])
        for number, (start, stop) in enumerate(bins):
            matrix[start:stop, number] = 1 / (stop - start)
        out = (out.movedim(axis, -1) @ constant(matrix)).movedim(-1, axis)
    return [x], [out]


def _resampled(cells: Cells, reads: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
    plans, sizes, dtype = cells["plans"], cells["sizes"], cells["dtype"]
    grad = reads  # nothing is read; the shape of the batch comes from the gradient
    out = x = zeros((*grad[0].shape[:2], *sizes), dtype)
    for axis, (plan, size) in enumerate(zip(plans, sizes, strict=True), 2):
        matrix = np.zeros((size, plan.places.shape[1]), dtype)
        for places, weights in zip(plan.places, plan.weights, strict=True):
            np.add.at(matrix, (places, np.arange(len(places))), weights)
        out = (out.movedim(axis, -1) @ constant(matrix)).movedim(-1, axis)
    return [x], [out]


def _diagonal(cells: Cells, reads: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
    shape = cells["shape"]
    x = zeros(shape, cells["dtype"])
    places = np.arange(math.prod(shape)).reshape(shape)
    line = places.diagonal(cells["offset"], cells["a"], cells["b"])
    return [x], [x.reshape(-1)[constant(line.copy())]]


_OPS = "minitorch_dist.tensors.ops."
FORMS: dict[str, Form] = {
    _OPS + "images.adaptive_pooling._average.<locals>.backward": _adaptive,
    _OPS + "images.pooling._avg_pool.<locals>.backward": _avg_pool,
    _OPS + "images.pooling._max_pool.<locals>.backward": _max_pool,
    _OPS + "images.pooling._max_pool.<locals>.<lambda>": _max_pool_with_places,
    _OPS + "images.resampling._resampled.<locals>.backward": _resampled,
    _OPS + "shapes.pieces.diagonal.<locals>.widen": _diagonal,
}
