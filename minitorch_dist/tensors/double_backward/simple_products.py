"""Products of many numbers, determinants and attention, written once more in operations that are easy to record.

See `simple_forms`, which has the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from minitorch_dist.tensors.core.base import Array
from minitorch_dist.tensors.double_backward.recording_array import constant
from minitorch_dist.tensors.ops.shapes import joining

Cells = Mapping[str, Any]
Form = Callable[[Cells, Sequence[Any]], tuple[Sequence[Any], Sequence[Any]]]


def zeros(shape: Sequence[int], dtype: Any) -> Any:
    """An input of which only the shape counts."""
    return constant(np.zeros(shape, dtype)).requires_grad_()


def wide(x: Any) -> Any:
    """The type in which `x` is computed with."""
    return x.float().dtype if x.array.dtype.itemsize == 2 else x.dtype


def kept_by(function: Any) -> dict[str, Any]:
    """The contents of a function's closure, or of the object whose method it is."""
    owner = getattr(function, "__self__", None)
    if owner is not None:
        return dict(vars(owner))
    names = function.__code__.co_freevars
    return dict(
        zip(names, (cell.cell_contents for cell in function.__closure__ or ()), strict=True)
    )


# ------------------------------------------------------------------------- products and determinants


def _product(cells: Cells, reads: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
    """Halves are multiplied with each other until one number is left."""
    (x,) = reads
    over, keepdim = cells["over"], cells["keepdim"]
    if not x.ndim:
        return [x], [x * 1]
    kept = [n for n in range(x.ndim) if n not in over]
    sides = [x.shape[n] for n in kept]
    line = x.permute(*kept, *over).reshape(*sides, math.prod(x.shape[n] for n in over))
    while (count := line.shape[-1]) > 1:
        half = count // 2
        pairs = line[..., :half] * line[..., half : 2 * half]
        line = joining.cat([pairs, line[..., 2 * half :]], -1) if count % 2 else pairs
    if not line.shape[-1]:
        return [x], [line.sum(-1) + 1]
    shape = [1 if n in over else x.shape[n] for n in range(x.ndim) if keepdim or n not in over]
    return [x], [line.reshape(shape)]


def _running_products(cells: Cells, reads: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
    """Each is multiplied with the product that ends 1, 2, 4, … places before it."""
    x = reads[0]
    if not x.ndim:
        return [x], [x * 1]
    along, shift = cells["along"], 1
    out = x * 1
    while shift < x.shape[along]:
        first = out.narrow(along, 0, shift)
        later = out.narrow(along, shift, x.shape[along] - shift)
        earlier = out.narrow(along, 0, x.shape[along] - shift)
        out = joining.cat([first, later * earlier], along)
        shift *= 2
    return [x], [out]


def _running_log_sums(cells: Cells, reads: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
    """As `_running_products`, with sums of exponentials."""
    x = reads[0]
    out, shift = x * 1, 1
    while x.ndim and shift < x.shape[cells["along"]]:
        along, rest = cells["along"], x.shape[cells["along"]] - shift
        pairs = joining.stack([out.narrow(along, shift, rest), out.narrow(along, 0, rest)], -1)
        out = joining.cat([out.narrow(along, 0, shift), pairs.logsumexp(-1)], along)
        shift *= 2
    return [x], [out]


def _pivots(x: Any) -> tuple[Any, Array]:
    """The diagonals of matrices after elimination, and the signs of the exchanges of rows that it needs."""
    matrices = np.asarray(x.array, np.float64).reshape(-1, *x.shape[-2:]).copy()
    size = x.shape[-1]
    order = np.tile(np.eye(size), (len(matrices), 1, 1))
    signs = np.ones(len(matrices))
    for number, rows in enumerate(matrices):
        for k in range(size):
            best = k + int(np.argmax(np.abs(rows[k:, k])))
            if best != k:
                rows[[k, best]], order[number][[k, best]] = (
                    rows[[best, k]],
                    order[number][[best, k]],
                )
                signs[number] *= -1
            if rows[k, k]:
                rows[k + 1 :] -= np.outer(rows[k + 1 :, k] / rows[k, k], rows[k])
    rest = constant(order.reshape(x.shape).astype(x.array.dtype), x.storage.device) @ x
    found = []
    for _ in range(size):
        pivot, row = rest[..., :1, :1], rest[..., :1, :]
        found.append(pivot[..., 0, 0])
        if rest.shape[-1] > 1:
            rest = rest[..., 1:, 1:] - (rest[..., 1:, :1] / pivot) @ row[..., 1:]
    return joining.stack(found, -1), signs.reshape(x.shape[:-2]).astype(x.array.dtype)


def _determinant(cells: Cells, reads: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
    (x,) = reads
    if not x.array.size:
        return [x], [x.sum((-1, -2)) + 1]
    found, signs = _pivots(x)
    return [x], [found.prod(-1) * constant(signs, x.storage.device)]


def _log_of_determinant(cells: Cells, reads: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
    (x,) = reads
    if not x.array.size:
        none = x.sum((-1, -2))
        return [x], [none * 0, none]
    found, _ = _pivots(x)
    logs = found.abs().log().sum(-1)
    return [x], [logs * 0, logs]


def _log_alone(cells: Cells, reads: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
    inputs, (_, logs) = _log_of_determinant(cells, reads)
    return inputs, [logs]


def _scattered(cells: Cells, reads: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
    """A row for each place: what is there, and what comes to it; a neutral number fills the rest."""
    reduce, shape, where, own = (cells[name] for name in ("reduce", "shape", "where", "own"))
    x, values, taken = cells["x"], cells["values"], cells["taken"]
    adds = reduce in ("sum", "mean")  # so no element is read
    inputs = [zeros(x.shape, x.dtype), zeros(taken, x.dtype)] if adds else list(reads)
    part = inputs[1].reshape(taken or (1,))[tuple(slice(n) for n in values.shape)]
    flat = np.ravel_multi_index(np.broadcast_arrays(*where), shape).reshape(-1)
    order = np.argsort(flat, kind="stable")
    column = np.arange(len(flat)) - np.searchsorted(flat[order], flat[order])
    nothing = x.size + len(flat)
    places = np.full((x.size, column.max(initial=-1) + 2), nothing)
    places[:, 0] = np.where(own.reshape(-1), np.arange(x.size), nothing)
    places[flat[order], column + 1] = x.size + order
    neutral = np.full(1, {"prod": 1, "amax": -np.inf, "amin": np.inf}.get(reduce, 0), x.dtype)
    every = joining.cat([inputs[0].reshape(-1), part.reshape(-1), constant(neutral)], 0)
    rows = every[constant(places)]
    out = getattr(rows, "sum" if reduce == "mean" else reduce)(1)
    if reduce == "mean":
        shares = np.where(cells["hit"], np.maximum(cells["counts"], 1), 1).reshape(-1)
        out = out / constant(shares.astype(x.dtype))
    return inputs, [out.reshape(x.shape)]


# ------------------------------------------------------------------------------------- attention


def _attention(cells: Cells, reads: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
    """Scores whose softmax is the weights that were found: what was added to them then is a constant."""
    query, inputs = reads[0], [*reads]  # the mask is among them where it needs a gradient
    kind, weights = query.dtype, cells["weights"]
    q, k, v = (each.to(wide(each)) for each in reads[:3])
    k, v = _for_each_query_head(k, cells["groups_k"]), _for_each_query_head(v, cells["groups_v"])
    scores = (q * float(cells["factor"])) @ k.mT
    if cells["count"] == 4:
        if len(inputs) == 3:
            inputs.append(zeros(*cells["like_mask"]))
        scores = scores + inputs[3].to(scores.dtype)
    sees = weights.any(-1, keepdims=True)  # a query that sees nothing has the weights 0
    with np.errstate(divide="ignore"):
        wanted = np.where(sees, np.log(weights), 0)
    device = query.storage.device
    found = (scores + constant((wanted - scores.array).astype(weights.dtype), device)).softmax(-1)
    found = found * constant(sees.astype(weights.dtype), device)
    dropped = kept_by(cells["thinned"])
    if dropped["kept"] is not None:
        found = found * constant((dropped["kept"] * dropped["boost"]).astype(weights.dtype), device)
    return inputs, [(found @ v).to(kind)]


def _for_each_query_head(x: Any, groups: int) -> Any:
    if groups == 1:
        return x
    wide = x.unsqueeze(-3).expand(*x.shape[:-2], groups, *x.shape[-2:])
    return wide.reshape(*x.shape[:-3], -1, *x.shape[-2:])


_OPS = "minitorch_dist.tensors.ops."
FORMS: dict[str, Form] = {
    "minitorch_dist.tensors.extras.linear_algebra.solving.logdet.<locals>.gradient": _log_alone,
    "minitorch_dist.tensors.extras.indexing.scatter_reduction.scatter_reduce.<locals>.backward": _scattered,
    _OPS + "along_axes.reductions.prod.<locals>.backward": _product,
    _OPS + "along_axes.scans.logcumsumexp.<locals>.gradient": _running_log_sums,
    _OPS + "along_axes.scans.cumprod.<locals>.gradient": _running_products,
    _OPS + "layers.attention.scaled_dot_product_attention.<locals>.backward": _attention,
    _OPS + "linear_algebra.solving._slogdet.<locals>.backward": _log_of_determinant,
    _OPS + "linear_algebra.solving.det.<locals>.<lambda>": _determinant,
}
